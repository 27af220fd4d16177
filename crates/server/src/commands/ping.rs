//! `ping`: does nothing.

use super::Command;
use crate::security::access::Access;

pub(super) const COMMAND: Command =
    Command { access: Access::Open, ..Command::reading("ping", |call| Ok(call.reply())).stable().control().strict() };
