//! Awards: rare values that are deeply nested. The map of each award has many fields and an array
//! of maps.

use super::author::write_capital;
use super::digits;
use super::lexicon::{Class, Lexicon};
use super::random::{Random, mix};
use super::subreddit::Subreddit;

/// The awards of one comment: the numbers of the three awards of the site, and the awards of the
/// subreddit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Awards {
    /// The numbers of silver, gold and platinum awards.
    site: [u64; 3],
    /// One bit for each award of the subreddit.
    own: u64,
}

impl Awards {
    /// Draws the awards of a comment that has at least one award.
    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut awards = Self::default();
        let kinds = 1 + random.zipf(4, 0);
        for _ in 0..kinds {
            match random.below(16) {
                0..7 => awards.site[0] += 1,
                7..10 => awards.site[1] += 1,
                10 | 11 => awards.site[2] += 1,
                own => awards.own |= 1 << (own & 1),
            }
        }
        awards
    }

    /// The total number of awards.
    pub(crate) fn total(&self) -> u64 {
        self.site.iter().sum::<u64>() + u64::from(self.own.count_ones())
    }

    /// The number of gold awards.
    pub(crate) fn gold(&self) -> u64 {
        self.site[1]
    }

    /// Appends the map of `gildings`.
    pub(crate) fn write_gildings(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut separator: &[u8] = b"";
        for (place, count) in self.site.iter().enumerate().filter(|(_, count)| **count > 0) {
            out.extend_from_slice(separator);
            out.extend_from_slice(b"\"gid_");
            digits::decimal(out, place as u64 + 1);
            out.extend_from_slice(b"\":");
            digits::decimal(out, *count);
            separator = b",";
        }
        out.push(b'}');
    }

    /// Appends the array of `all_awardings`.
    #[cold]
    pub(crate) fn write_all(&self, lexicon: &Lexicon, subreddit: Subreddit, out: &mut Vec<u8>) {
        out.push(b'[');
        let start = out.len();
        for (place, count) in self.site.iter().enumerate().filter(|(_, count)| **count > 0) {
            separate(out, start);
            write_site_award(out, place, *count);
        }
        for own in (0..2).filter(|own| self.own >> own & 1 == 1) {
            separate(out, start);
            write_own_award(lexicon, out, subreddit, own);
        }
        out.push(b']');
    }
}

fn separate(out: &mut Vec<u8>, start: usize) {
    if out.len() > start {
        out.push(b',');
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    push(out, name);
    digits::decimal(out, value);
}

fn write_site_award(out: &mut Vec<u8>, place: usize, count: u64) {
    let (name, price, reward, days, description) = match place {
        0 => ("Silver", 100, 0, 0, "Shows the Silver Award... and that's it."),
        1 => (
            "Gold",
            500,
            100,
            7,
            "Gives the author a week of Reddit Premium, %{coin_symbol}100 Coins to do with as they please, and shows a Gold Award.",
        ),
        _ => (
            "Platinum",
            1800,
            700,
            31,
            "Gives the author a month of Reddit Premium, %{coin_symbol}700 Coins, and shows a Platinum Award. Also grants an additional %{coin_symbol}100 Community Coins for the exclusive use of this subreddit.",
        ),
    };
    let icon = |out: &mut Vec<u8>| {
        push(out, "https://www.redditstatic.com/gold/awards/icon/");
        let start = out.len();
        push(out, name);
        out[start..].make_ascii_lowercase();
        out.push(b'_');
    };
    number(out, "{\"award_type\":\"global\",\"coin_price\":", price);
    number(out, ",\"coin_reward\":", reward);
    number(out, ",\"count\":", count);
    push(out, ",\"days_of_drip_extension\":0");
    number(out, ",\"days_of_premium\":", days);
    push(out, ",\"description\":\"");
    push(out, description);
    push(out, "\",\"end_date\":null,\"icon_height\":512,\"icon_url\":\"");
    icon(out);
    number(out, "512.png\",\"icon_width\":512,\"id\":\"gid_", place as u64 + 1);
    push(out, "\",\"is_enabled\":true,\"name\":\"");
    push(out, name);
    push(out, "\",\"resized_icons\":");
    write_icons(out, &icon);
    number(out, ",\"start_date\":null,\"subreddit_coin_reward\":", u64::from(place == 2) * 100);
    push(out, ",\"subreddit_id\":null}");
}

/// Appends an award of a subreddit. Its optional fields depend on the award, as if the site had
/// added them over the years without changing older awards.
fn write_own_award(lexicon: &Lexicon, out: &mut Vec<u8>, subreddit: Subreddit, own: u64) {
    let hash = mix(subreddit.hash() ^ (own + 1));
    let has = |bit: u32| hash >> bit & 1 == 1;
    let icon = |out: &mut Vec<u8>| {
        push(out, "https://i.redd.it/award_images/");
        super::subreddit::write_id(out, subreddit);
        out.push(b'/');
        digits::base36(out, hash % 36u64.pow(12));
        out.push(b'_');
    };
    push(out, if has(0) { "{\"award_sub_type\":\"COMMUNITY\"," } else { "{" });
    number(out, "\"award_type\":\"community\",\"coin_price\":", 100 + 100 * (hash >> 8 & 15));
    push(out, ",\"coin_reward\":0,\"count\":1,\"days_of_drip_extension\":0,\"days_of_premium\":0,\"description\":\"");
    lexicon.write_word(out, Class::Adjective, (hash >> 16) as usize & 255);
    out.push(b' ');
    lexicon.write_word(out, Class::Plural, (hash >> 24) as usize & 511);
    push(out, "!\",\"end_date\":null");
    push(out, if has(1) { ",\"giver_coin_reward\":null" } else { "" });
    push(out, if has(2) { ",\"icon_format\":\"PNG\"" } else { "" });
    push(out, ",\"icon_height\":2048,\"icon_url\":\"");
    icon(out);
    push(out, "Award.png\",\"icon_width\":2048,\"id\":\"award_");
    digits::uuid(out, hash);
    push(out, "\",\"is_enabled\":true");
    push(out, if has(3) { ",\"is_new\":false" } else { "" });
    push(out, ",\"name\":\"");
    write_capital(lexicon, out, Class::Adjective, (hash >> 16) as usize & 255);
    push(out, " Award\"");
    push(out, if has(4) { ",\"penny_donate\":null,\"penny_price\":null" } else { "" });
    push(out, ",\"resized_icons\":");
    write_icons(out, &icon);
    push(out, ",\"start_date\":null");
    push(out, if has(5) { ",\"static_icon_height\":2048,\"static_icon_width\":2048" } else { "" });
    push(out, ",\"subreddit_coin_reward\":0,\"subreddit_id\":\"");
    super::subreddit::write_id(out, subreddit);
    push(out, "\"}");
}

fn write_icons(out: &mut Vec<u8>, icon: &dyn Fn(&mut Vec<u8>)) {
    out.push(b'[');
    let start = out.len();
    for side in [16, 32, 48, 64, 128] {
        separate(out, start);
        number(out, "{\"height\":", side);
        push(out, ",\"url\":\"");
        icon(out);
        number(out, "", side);
        number(out, ".png\",\"width\":", side);
        out.push(b'}');
    }
    out.push(b']');
}
