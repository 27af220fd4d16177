//! The address of a server in the form that clients use: `HOST:PORT`, or the path of a Unix socket.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

/// The port of an address without a port.
const DEFAULT_PORT: u16 = 27_017;
/// The longest name that the domain name system allows.
const NAME_BYTES_MAX: usize = 253;

/// An address that clients can connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

/// The name of a replica set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetName {
    /// The name that `replSetInitiate` sets. Before that, a name that no other database has, so that a driver does not
    /// confuse two servers.
    OfDatabase,
    /// A name from the settings.
    Given(String),
}

/// The reason why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The text has another form.
    #[error("'{0}' is not HOST:PORT, [IPV6]:PORT or the absolute path of a socket that ends with .sock")]
    Form(String),
    /// The address means all interfaces.
    #[error("'{0}' means every address of a machine: write the one that clients connect to")]
    Unspecified(String),
}

impl Host {
    /// An address made of a name or an IP address, and a port.
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self(format!("{host}:{port}"))
    }

    /// An address of the network. An IPv4 address that an IPv6 socket reports becomes an IPv4 address.
    pub(crate) fn of_ip(address: SocketAddr) -> Self {
        Self(SocketAddr::new(address.ip().to_canonical(), address.port()).to_string())
    }

    /// The absolute path of a socket, so that clients can use the path in any directory.
    pub(crate) fn of_socket(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self(absolute.display().to_string())
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host and the port; the port of a socket is 0.
    pub(crate) fn parts(&self) -> (&str, u16) {
        match self.0.rsplit_once(':') {
            Some((host, port)) if !self.0.starts_with('/') => (host, port.parse().unwrap_or(0)),
            _ => (&self.0, 0),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Host {
    type Err = HostError;

    /// Parses an address, and adds the port if it is missing, so that all drivers can read the address.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let wrong = || HostError::Form(text.to_owned());
        if text.starts_with('/') {
            // Drivers recognize a socket by the end of its name.
            return if text.ends_with(".sock") { Ok(Self(text.to_owned())) } else { Err(wrong()) };
        }
        let (host, port) =
            match text.strip_prefix('[').map(|rest| rest.split_once(']').ok_or_else(wrong)).transpose()? {
                Some((host, rest)) => {
                    let ip: Ipv6Addr = host.parse().map_err(|_| wrong())?;
                    let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) };
                    (IpAddr::V6(ip).to_canonical().to_string(), port)
                }
                None => match text.split_once(':') {
                    Some((host, port)) => (host.to_owned(), Some(port)),
                    None => (text.to_owned(), None),
                },
            };
        let port = match port {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().map_err(|_| wrong())?,
            Some(_) => return Err(wrong()),
            None => DEFAULT_PORT,
        };
        if let Ok(ip) = host.parse::<IpAddr>() {
            return match (ip.is_unspecified(), port) {
                (true, _) => Err(HostError::Unspecified(text.to_owned())),
                (false, 0) => Err(wrong()),
                (false, _) => Ok(Self(SocketAddr::new(ip, port).to_string())),
            };
        }
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match !host.is_empty() && host.len() <= NAME_BYTES_MAX && host.bytes().all(is_of_name) && port > 0 {
            true => Ok(Self::new(&host, port)),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests;
