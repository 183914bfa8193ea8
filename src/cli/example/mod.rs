//! Files for what runs beside the service, printed as they stand in this folder. A further one is a
//! variant and a line.

use std::io::Write;

use clap::ValueEnum;

use super::Result;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Example {
    /// The unit by which systemd starts, watches and stops it
    Systemd,
    /// The unit by which systemd makes a backup
    BackupService,
    /// The timer by which systemd begins that every night
    BackupTimer,
    /// The unit by which systemd removes old snapshots and what no state needs
    GcService,
    /// The timer by which systemd begins that every night
    GcTimer,
    /// The unit by which systemd keeps a client's folder equal to a branch
    Pull,
    /// The unit by which systemd pulls once
    PullOnce,
    /// The timer by which systemd begins that every few minutes
    PullTimer,
    /// nginx with TLS before it
    Nginx,
    /// HAProxy with TLS before it
    Haproxy,
    /// Caddy with TLS before it
    Caddy,
    /// The settings by which logrotate takes its log file away
    Logrotate,
    /// A container
    Docker,
    /// Containers of several daemons over PostgreSQL and S3, to try that
    Fleet,
    /// A script that starts the same from packages on one machine
    FleetLocal,
    /// A dashboard of the metrics for Grafana
    Grafana,
    /// Rules by which Prometheus gives alarm
    Alerts,
}

impl Example {
    fn text(self) -> &'static str {
        match self {
            Self::Systemd => include_str!("siteconf.service"),
            Self::BackupService => include_str!("siteconf-backup.service"),
            Self::BackupTimer => include_str!("siteconf-backup.timer"),
            Self::GcService => include_str!("siteconf-gc.service"),
            Self::GcTimer => include_str!("siteconf-gc.timer"),
            Self::Pull => include_str!("siteconf-pull.service"),
            Self::PullOnce => include_str!("siteconf-pull-once.service"),
            Self::PullTimer => include_str!("siteconf-pull-once.timer"),
            Self::Nginx => include_str!("nginx.conf"),
            Self::Haproxy => include_str!("haproxy.cfg"),
            Self::Caddy => include_str!("Caddyfile"),
            Self::Logrotate => include_str!("siteconf.logrotate"),
            Self::Docker => include_str!("Dockerfile"),
            Self::Fleet => include_str!("fleet.yml"),
            Self::FleetLocal => include_str!("fleet-local.sh"),
            Self::Grafana => include_str!("grafana.json"),
            Self::Alerts => include_str!("alerts.yml"),
        }
    }
}

/// Prints the file.
pub(super) fn print(example: Example, out: &mut dyn Write) -> Result<()> {
    out.write_all(example.text().as_bytes())?;
    Ok(())
}
