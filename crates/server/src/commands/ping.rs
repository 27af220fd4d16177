//! `ping`: does nothing.

use super::Command;
use crate::access::Access;

pub(super) const COMMAND: Command =
    Command { access: Access::Open, ..Command::reading("ping", |call| Ok(call.reply())).strict() };
