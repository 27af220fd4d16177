//! The address of a server as its clients write it: `HOST:PORT`, or the path of a Unix socket.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 27_017;
/// The longest name of the domain name system.
const NAME_BYTES_MAX: usize = 253;

/// An address that clients can connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

/// The name of a replica set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetName {
    /// The name given by `replSetInitiate`; before that, a name that no other database has, so that a driver does not
    /// take another server for this one.
    OfDatabase,
    /// The name given in the settings.
    Given(String),
}

/// The reason why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It has another form.
    #[error("'{0}' is not HOST:PORT, [IPV6]:PORT or the absolute path of a socket that ends with .sock")]
    Form(String),
    /// It is the address of all interfaces.
    #[error("'{0}' means every address of a machine: write the one that clients connect to")]
    Unspecified(String),
}

impl Host {
    /// A name or an IP address, and a port.
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self(format!("{host}:{port}"))
    }

    /// An address of the network. An IPv4 address that arrives at an IPv6 socket is one of IPv4.
    pub(crate) fn of_ip(address: SocketAddr) -> Self {
        Self(SocketAddr::new(address.ip().to_canonical(), address.port()).to_string())
    }

    /// The path of a socket, which clients of any directory can use.
    pub(crate) fn of_socket(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self(absolute.display().to_string())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host without the port, and the port; 0 for a socket.
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

    /// The address in the form that all drivers read: with a port.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let wrong = || HostError::Form(text.to_owned());
        if text.starts_with('/') {
            // Drivers know a socket by the end of its name.
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
