//! The address of a bucket for large files, which holds no secret: what may be one is refused.

use std::fmt;
use std::net::IpAddr;

/// The region of a server that has none.
const REGION_OF_ENDPOINTS: &str = "us-east-1";

/// A part of a bucket, as in `s3://bucket/prefix?region=eu-central-1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    prefix: String,
    region: String,
    endpoint: Option<String>,
    allows_http: bool,
    is_of_machine: bool,
    /// True if it was said that uploads bring a checksum.
    wants_checksums: bool,
}

impl BucketUrl {
    /// Takes a URL.
    ///
    /// # Errors
    /// What is wrong with it, a sentence that repeats nothing of it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !cfg!(feature = "fleet") {
            return Err(
                "this program was built without the feature \"fleet\", which a bucket needs",
            );
        }
        let rest = text
            .strip_prefix("s3://")
            .ok_or("it must be of the form s3://bucket/prefix?region=eu-central-1")?;
        if rest.contains('@') {
            return Err(
                "it takes no keys: give s3_credentials_file, or AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY in the environment",
            );
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_plain) {
            return Err("the name of a bucket has letters, digits, dots and hyphens alone");
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_part = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_plain)
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err(
                "the prefix in the bucket has letters, digits, dots, hyphens, underscores and single \
                 slashes alone",
            );
        }
        let mut url = Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            region: String::new(),
            endpoint: None,
            allows_http: false,
            is_of_machine: false,
            wants_checksums: false,
        };
        for param in query.split('&').filter(|param| !param.is_empty()) {
            url.take(param)?;
        }
        url.require_safe()?;
        if url.region.is_empty() {
            url.region = match url.endpoint {
                Some(_) => REGION_OF_ENDPOINTS.to_owned(),
                None => return Err("it must name the region, as in ?region=eu-central-1"),
            };
        }
        Ok(url)
    }

    fn take(&mut self, param: &str) -> Result<(), &'static str> {
        let (name, value) = param.split_once('=').unwrap_or((param, ""));
        let value = percent_encoding::percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| "what follows the question mark must be UTF-8")?;
        match name {
            "region" => {
                let is_region = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
                if value.is_empty() || !value.bytes().all(is_region) {
                    return Err("the region has letters, digits and hyphens alone");
                }
                self.region = value.into_owned();
            }
            "endpoint" => {
                let endpoint = value.strip_suffix('/').unwrap_or(&value);
                if host_of(endpoint).is_none() {
                    return Err(
                        "the endpoint must be http:// or https:// and a host, and a port if need be, \
                         nothing more",
                    );
                }
                self.endpoint = Some(endpoint.to_owned());
            }
            "allow_http" if value == "true" => self.allows_http = true,
            "role" if value == "machine" => self.is_of_machine = true,
            "checksum" if value == "sha256" => self.wants_checksums = true,
            _ => {
                return Err("behind the question mark it takes region, endpoint, \
                     allow_http=true, role=machine and checksum=sha256 alone");
            }
        }
        Ok(())
    }

    /// Over a network nothing goes in the clear unless that was said.
    fn require_safe(&self) -> Result<(), &'static str> {
        let Some(endpoint) = &self.endpoint else {
            return Ok(());
        };
        let is_here = host_of(endpoint).is_some_and(is_this_machine);
        if endpoint.starts_with("https://") || self.allows_http || is_here {
            return Ok(());
        }
        Err(
            "what goes to this endpoint would not be encrypted: give https://, or say allow_http=true \
             where the network is trusted",
        )
    }

    /// The name of the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What names in it begin with, without a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The server, where it is not Amazon's.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// The URL without how the bucket is asked there: the same for all who have the same bucket.
    pub fn address(&self) -> String {
        let plain = Self {
            allows_http: false,
            is_of_machine: false,
            wants_checksums: false,
            ..self.clone()
        };
        plain.to_string()
    }

    /// True if requests are signed with the keys of the machine's role.
    pub fn is_of_machine(&self) -> bool {
        self.is_of_machine
    }

    /// True if each upload brings its SHA-256, which a bucket that locks its objects asks for. Amazon's take it; some
    /// servers refuse it.
    pub fn wants_checksums(&self) -> bool {
        self.wants_checksums || self.endpoint.is_none()
    }

    /// True if requests go over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.endpoint
            .as_ref()
            .is_none_or(|endpoint| endpoint.starts_with("https://"))
    }
}

/// The host of an endpoint, `None` for a text that is none.
fn host_of(endpoint: &str) -> Option<&str> {
    let authority = endpoint
        .strip_prefix("http://")
        .or_else(|| endpoint.strip_prefix("https://"))?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let is_host = !host.is_empty() && host.bytes().all(is_plain);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (is_host && is_port).then_some(host)
}

/// True for a host, as in a URL but without brackets, that is this machine itself.
pub(super) fn is_this_machine(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        write!(f, "?region={}", self.region)?;
        if let Some(endpoint) = &self.endpoint {
            write!(f, "&endpoint={endpoint}")?;
        }
        if self.allows_http {
            f.write_str("&allow_http=true")?;
        }
        if self.is_of_machine {
            f.write_str("&role=machine")?;
        }
        if self.wants_checksums {
            f.write_str("&checksum=sha256")?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "fleet"))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_read_and_shown() {
        for (text, shown) in [
            ("s3://b?region=eu-central-1", "s3://b?region=eu-central-1"),
            ("s3://b/?region=eu-1", "s3://b?region=eu-1"),
            (
                "s3://my.b-1/a/b_c/?region=eu-1",
                "s3://my.b-1/a/b_c?region=eu-1",
            ),
            (
                "s3://b/a?endpoint=http%3A%2F%2F127.0.0.1%3A9000",
                "s3://b/a?region=us-east-1&endpoint=http://127.0.0.1:9000",
            ),
            (
                "s3://b?endpoint=http://[::1]:9000/&region=x",
                "s3://b?region=x&endpoint=http://[::1]:9000",
            ),
            (
                "s3://b?endpoint=https://s3.example",
                "s3://b?region=us-east-1&endpoint=https://s3.example",
            ),
            (
                "s3://b?endpoint=http://s3.example&allow_http=true",
                "s3://b?region=us-east-1&endpoint=http://s3.example&allow_http=true",
            ),
            (
                "s3://b?role=machine&region=eu-1",
                "s3://b?region=eu-1&role=machine",
            ),
            (
                "s3://b?checksum=sha256&endpoint=https://h",
                "s3://b?region=us-east-1&endpoint=https://h&checksum=sha256",
            ),
        ] {
            let url = BucketUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(BucketUrl::parse(shown), Ok(url));
        }
    }

    #[test]
    fn how_a_bucket_is_asked_is_no_part_of_its_address() {
        for (text, address) in [
            ("s3://b/a?role=machine&region=eu-1", "s3://b/a?region=eu-1"),
            (
                "s3://b?endpoint=http://s3.example&allow_http=true",
                "s3://b?region=us-east-1&endpoint=http://s3.example",
            ),
            ("s3://b?region=eu-1&checksum=sha256", "s3://b?region=eu-1"),
        ] {
            assert_eq!(BucketUrl::parse(text).unwrap().address(), address);
        }
    }

    #[test]
    fn what_is_none_is_refused_and_no_secret_is_repeated() {
        for (text, told) in [
            ("http://b", "s3://bucket"),
            ("s3://key:Hidden@b/x?region=r", "it takes no keys"),
            ("s3://b?region=r&secret=Hidden", "checksum=sha256 alone"),
            ("s3://b?region=r&role=Hidden", "checksum=sha256 alone"),
            ("s3://?region=r", "name of a bucket"),
            ("s3://b/../Hidden?region=r", "the prefix"),
            ("s3://b/a//b?region=r", "the prefix"),
            ("s3://b", "must name the region"),
            ("s3://b?region=a%2Fb", "the region has"),
            ("s3://b?endpoint=https://h/path", "the endpoint must"),
            ("s3://b?endpoint=ftp://h", "the endpoint must"),
            ("s3://b?endpoint=https://h:x", "the endpoint must"),
            ("s3://b?endpoint=http://s3.example", "not be encrypted"),
            ("s3://b?endpoint=http://10.0.0.1:9000", "not be encrypted"),
        ] {
            let refusal = BucketUrl::parse(text).unwrap_err();
            assert!(refusal.contains(told), "{text}: {refusal}");
            assert!(!refusal.contains("Hidden"));
        }
    }
}
