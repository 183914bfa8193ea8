//! The alarms of `siteconf example alerts`, as Prometheus gives them.

use std::fs;
use std::process::Command;

use crate::examples::example;
use crate::is_here;
use crate::service::output_of;

/// What Prometheus makes of the file, minute by minute. Without it on this machine nothing is looked at, which is told.
#[track_caller]
fn assert_alarms(cases: &str) {
    if !is_here("promtool") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("alerts.yml"), example("alerts")).unwrap();
    let file = folder.path().join("cases.yml");
    fs::write(&file, cases).unwrap();
    let said = output_of(Command::new("promtool").args(["test", "rules"]).arg(&file));
    assert!(said.contains("SUCCESS"), "{said}");
}

/// Of a store in PostgreSQL nobody asks for a backup.
#[test]
fn a_store_without_a_backup_gives_alarm_and_one_in_postgresql_does_not() {
    let cases = r#"
rule_files: [alerts.yml]
tests:
  - interval: 1m
    input_series:
      - { series: 'siteconf_build_info{instance="folder"}', values: '1x12000' }
      - { series: 'siteconf_database_bytes{instance="folder"}', values: '1x12000' }
      - { series: 'siteconf_last_collection_age_seconds{instance="folder"}', values: '0+60x12000' }
      - { series: 'siteconf_build_info{instance="backed-up"}', values: '1x12000' }
      - { series: 'siteconf_database_bytes{instance="backed-up"}', values: '1x12000' }
      - { series: 'siteconf_last_backup_age_seconds{instance="backed-up"}', values: '60x12000' }
      - { series: 'siteconf_build_info{instance="postgres"}', values: '1x12000' }
    alert_rule_test:
      - alertname: SiteconfNoBackup
        eval_time: 47h
      - alertname: SiteconfNoBackup
        eval_time: 49h
        exp_alerts:
          - exp_labels: { severity: warning, instance: folder }
            exp_annotations:
              summary: "siteconf on folder was never backed up"
      - alertname: SiteconfNoCollection
        eval_time: 191h
      - alertname: SiteconfNoCollection
        eval_time: 193h
        exp_alerts:
          - exp_labels: { severity: warning, instance: backed-up }
            exp_annotations:
              summary: "nothing was ever collected of siteconf's store on backed-up"
              description: "siteconf gc gives room back that nothing needs; siteconf-gc.timer begins it every night."
      - alertname: SiteconfCollectionOld
        eval_time: 192h
      - alertname: SiteconfCollectionOld
        eval_time: 195h
        exp_alerts:
          - exp_labels: { severity: warning, instance: folder }
            exp_annotations:
              summary: "the last collection of siteconf on folder that came to its end is older than eight days"
              description: "siteconf gc gives room back that nothing needs;
                journalctl -u siteconf-gc says why it does not."
"#;
    assert_alarms(cases);
}

/// A balancer that asks again and again is answered 503 meanwhile, which is no error of the service; nor is 501, for
/// who sends methods that nobody knows.
#[test]
fn a_service_that_is_not_ready_gives_one_alarm() {
    let cases = r#"
rule_files: [alerts.yml]
tests:
  - interval: 1m
    input_series:
      - { series: 'siteconf_ready{instance="one"}', values: '1x10 0x50' }
      - { series: 'siteconf_http_requests_total{instance="one",route="/readyz",status="503"}', values: '0+60x60' }
      - { series: 'siteconf_http_requests_total{instance="one",route="/",status="303"}', values: '0+60x60' }
      - { series: 'siteconf_http_requests_total{instance="two",route="/readyz",status="200"}', values: '0+60x60' }
      - { series: 'siteconf_http_requests_total{instance="two",route="/user/login",status="503"}', values: '0+1x60' }
      - series: 'siteconf_http_requests_total{instance="three",route="none",method="other",status="501"}'
        values: '0+60x60'
    alert_rule_test:
      - alertname: SiteconfNotReady
        eval_time: 14m
      - alertname: SiteconfNotReady
        eval_time: 17m
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "siteconf on one says that it is not ready"
              description: "GET /readyz has all reasons: refused changes, a database or a bucket that is away,
                little room on the disk, a wrong clock."
      - alertname: SiteconfErrors
        eval_time: 30m
        exp_alerts:
          - exp_labels: { severity: warning, instance: two }
            exp_annotations:
              summary: "siteconf on two answers more than 1 % of requests with an error of its own"
"#;
    assert_alarms(cases);
}

/// What happens at once, and what takes its time: before it is over there is no alarm.
#[test]
fn what_needs_somebody_soon_gives_alarm() {
    let cases = r#"
rule_files: [alerts.yml]
tests:
  - interval: 1m
    input_series:
      - { series: 'up{job="siteconf",instance="one"}', values: '1x10 0x50' }
      - { series: 'up{job="other",instance="two"}', values: '0x60' }
      - { series: 'siteconf_writes_refused{instance="one"}', values: '0x10 1x50' }
      - { series: 'siteconf_writes_refused{instance="two"}', values: '0x60' }
      - { series: 'siteconf_disk_low{instance="one"}', values: '0x10 1x50' }
      - { series: 'siteconf_disk_low{instance="two"}', values: '0x60' }
      - { series: 'siteconf_wal_bytes{instance="one"}', values: '1x10 536870913x50' }
      - { series: 'siteconf_wal_bytes{instance="two"}', values: '536870912x60' }
    alert_rule_test:
      - alertname: SiteconfDown
        eval_time: 12m
      - alertname: SiteconfDown
        eval_time: 13m
        exp_alerts:
          - exp_labels: { severity: critical, instance: one, job: siteconf }
            exp_annotations:
              summary: "siteconf on one does not answer"
      - alertname: SiteconfWritesRefused
        eval_time: 11m
      - alertname: SiteconfWritesRefused
        eval_time: 12m
        exp_alerts:
          - exp_labels: { severity: critical, instance: one }
            exp_annotations:
              summary: "siteconf on one refuses changes"
              description: "The disk is full, the database is away, or a write has failed, after which it
                must be restarted. The log says which."
      - alertname: SiteconfDiskLow
        eval_time: 15m
      - alertname: SiteconfDiskLow
        eval_time: 16m
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "siteconf on one has less room on its disk than disk_low_bytes"
      - alertname: SiteconfLogGrows
        eval_time: 25m
      - alertname: SiteconfLogGrows
        eval_time: 26m
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "the file of the log of siteconf's store on one is longer than 512 MiB"
              description: "At 192 MiB its room is used again, unless a process that reads the store for long,
                such as a suspended command, holds it."
"#;
    assert_alarms(cases);
}

#[test]
fn what_comes_within_days_gives_alarm_before() {
    // Looked at every five minutes, which takes less time. The first disk loses 1 % an hour, the second one 0.5 %. The
    // first certificate ends after 20 days, the second one after 40.
    let cases = r#"
rule_files: [alerts.yml]
evaluation_interval: 5m
tests:
  - interval: 5m
    input_series:
      - { series: 'siteconf_disk_free_bytes{instance="one"}', values: '120000-100x500' }
      - { series: 'siteconf_disk_free_bytes{instance="two"}', values: '120000-50x500' }
      - { series: 'siteconf_last_backup_age_seconds{instance="one"}', values: '0+300x2000' }
      - { series: 'siteconf_last_backup_age_seconds{instance="two"}', values: '172800x2000' }
      - { series: 'siteconf_tls_certificate_expires_timestamp_seconds{instance="one"}', values: '1728000x2000' }
      - { series: 'siteconf_tls_certificate_expires_timestamp_seconds{instance="two"}', values: '3456000x2000' }
    alert_rule_test:
      - alertname: SiteconfDiskFullSoon
        eval_time: 27h
      - alertname: SiteconfDiskFullSoon
        eval_time: 31h
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "the disk of siteconf on one is full within three days"
      - alertname: SiteconfBackupOld
        eval_time: 48h
      - alertname: SiteconfBackupOld
        eval_time: 50h
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "the last backup of siteconf on one is older than two days"
      - alertname: SiteconfCertificateEnds
        eval_time: 144h
      - alertname: SiteconfCertificateEnds
        eval_time: 146h
        exp_alerts:
          - exp_labels: { severity: warning, instance: one }
            exp_annotations:
              summary: "the certificate of siteconf on one ends within 14 days"
              description: "Where a new one is there already and cannot be used, the log says why."
"#;
    assert_alarms(cases);
}

/// Each day one scrape fails, as at a restart. What is asked of a service ends with it.
#[test]
fn restarts_every_day_keep_no_alarm_back_that_takes_days() {
    let cases = r#"
rule_files: [alerts.yml]
evaluation_interval: 5m
tests:
  - interval: 5m
    input_series:
      - { series: 'siteconf_database_bytes{instance="never"}', values: 'DAYS' }
      - { series: 'siteconf_database_bytes{instance="cared-for"}', values: 'DAYS' }
      - { series: 'siteconf_last_backup_age_seconds{instance="cared-for"}', values: 'DAYS' }
      - { series: 'siteconf_last_collection_age_seconds{instance="cared-for"}', values: 'DAYS' }
      - { series: 'siteconf_build_info{instance="postgres"}', values: 'DAYS' }
      - { series: 'siteconf_database_bytes{instance="removed"}', values: '1x720 stale' }
    alert_rule_test:
      - alertname: SiteconfNoBackup
        eval_time: 47h
      - alertname: SiteconfNoBackup
        eval_time: 50h
        exp_alerts:
          - exp_labels: { severity: warning, instance: never }
            exp_annotations:
              summary: "siteconf on never was never backed up"
          - exp_labels: { severity: warning, instance: removed }
            exp_annotations:
              summary: "siteconf on removed was never backed up"
      - alertname: SiteconfNoBackup
        eval_time: 62h
        exp_alerts:
          - exp_labels: { severity: warning, instance: never }
            exp_annotations:
              summary: "siteconf on never was never backed up"
      - alertname: SiteconfNoCollection
        eval_time: 191h
      - alertname: SiteconfNoCollection
        eval_time: 194h
        exp_alerts:
          - exp_labels: { severity: warning, instance: never }
            exp_annotations:
              summary: "nothing was ever collected of siteconf's store on never"
              description: "siteconf gc gives room back that nothing needs; siteconf-gc.timer begins it every night."
"#;
    assert_alarms(&cases.replace("DAYS", &"1x286 stale ".repeat(10)));
}

/// A full bucket is known of for a minute after each file that was refused, and a full disk of the database after each
/// change. Neither a start nor a restart nor a database that was away for two minutes is alike.
#[test]
fn what_hinders_again_and_again_gives_alarm() {
    let cases = r#"
rule_files: [alerts.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - { series: 'siteconf_ready{instance="full"}', values: '1x239 READY 1x200' }
      - { series: 'siteconf_ready{instance="scraped-badly"}', values: '1x239 UNREADY 1x200' }
      - { series: 'siteconf_ready{instance="started"}', values: '_x240 0x4 1x400' }
      - { series: 'siteconf_ready{instance="restarted"}', values: '1x239 0 0 _x4 0 0 0 1x400' }
      - { series: 'siteconf_ready{instance="away"}', values: '1x239 0x7 1x400' }
      - { series: 'siteconf_writes_refused{instance="full"}', values: '0x239 REFUSED 0x200' }
      - { series: 'siteconf_writes_refused{instance="started"}', values: '_x240 1 1 1 0x400' }
      - { series: 'siteconf_writes_refused{instance="away"}', values: '0x239 1 1 1 0x400' }
    alert_rule_test:
      - alertname: SiteconfNotReady
        eval_time: 60m
      - alertname: SiteconfNotReady
        eval_time: 67m
        exp_alerts:
          - exp_labels: { severity: warning, instance: scraped-badly }
            exp_annotations: &not-ready
              summary: "siteconf on scraped-badly says that it is not ready"
              description: "GET /readyz has all reasons: refused changes, a database or a bucket that is
                away, little room on the disk, a wrong clock."
      - alertname: SiteconfNotReady
        eval_time: 80m
        exp_alerts:
          - exp_labels: { severity: warning, instance: full }
            exp_annotations:
              summary: "siteconf on full says that it is not ready"
              description: "GET /readyz has all reasons: refused changes, a database or a bucket that is
                away, little room on the disk, a wrong clock."
          - exp_labels: { severity: warning, instance: scraped-badly }
            exp_annotations: *not-ready
      - alertname: SiteconfNotReady
        eval_time: 140m
      - alertname: SiteconfWritesRefused
        eval_time: 63m
      - alertname: SiteconfWritesRefused
        eval_time: 75m
        exp_alerts:
          - exp_labels: { severity: critical, instance: full }
            exp_annotations:
              summary: "siteconf on full refuses changes"
              description: "The disk is full, the database is away, or a write has failed, after which
                it must be restarted. The log says which."
      - alertname: SiteconfWritesRefused
        eval_time: 140m
"#;
    let cases = cases.replace("UNREADY", &"0x8 stale ".repeat(20));
    let cases = cases.replace("READY", &"0 0 0 0 1 1 1 1 ".repeat(30));
    let cases = cases.replace("REFUSED", &"1 1 1 0 0 0 0 0 0 0 0 0 ".repeat(20));
    assert_alarms(&cases);
}

/// Whether a scrape hits the moments in which it is down or not. Two restarts are somebody's work.
#[test]
fn a_service_that_is_killed_again_and_again_gives_alarm() {
    let cases = r#"
rule_files: [alerts.yml]
tests:
  - interval: 1m
    input_series:
      - series: 'process_start_time_seconds{job="siteconf",instance="killed"}'
        values: '0 _ 120 _ 240 _ 360 _ 480 _ 600'
      - { series: 'process_start_time_seconds{job="siteconf",instance="restarted"}', values: '0x4 300x4 600x4' }
      - { series: 'process_start_time_seconds{job="other",instance="another"}', values: '0+60x60' }
    alert_rule_test:
      - alertname: SiteconfRestarts
        eval_time: 4m
      - alertname: SiteconfRestarts
        eval_time: 10m
        exp_alerts:
          - exp_labels: { severity: warning, instance: killed, job: siteconf }
            exp_annotations:
              summary: "siteconf on killed was started anew 5 times within an hour"
              description: "Its log says how it ended, where it could. Where it says nothing, the system killed it:
                journalctl -u siteconf (or the runtime of the container) has the signal and the exit code, and
                journalctl -k tells whether memory was short."
"#;
    assert_alarms(cases);
}
