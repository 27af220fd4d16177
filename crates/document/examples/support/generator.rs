//! Comment-like lines of JSON: the fields of the Reddit comments of 2019, with values that vary as they do there.

use std::fmt::Write;

use fastrand::Rng;

const WORDS: &str = "the and to of that is in it you for on was with they this have not are be as at so if like just but \
    people think would really know good time want because even more than what about there some when your get can make";

fn word(rng: &mut Rng) -> &'static str {
    WORDS.split_whitespace().nth(rng.usize(..48)).unwrap_or("the")
}

fn id(rng: &mut Rng, len: usize) -> String {
    (0..len).map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[rng.usize(..36)])).collect()
}

/// Text of about this many bytes, as it is written between quotes in JSON.
fn text(rng: &mut Rng, len: usize) -> String {
    let mut out = String::new();
    while out.len() < len {
        out.push_str(word(rng));
        out.push_str(match rng.u32(..100) {
            0..4 => ".\\n\\n",
            4..6 => " \\\"quoted\\\" ",
            6 if len > 150 => " [link](https://example.com/a_b?c=d) ",
            7 if len > 300 => " – it’s ",
            8..14 => ", ",
            _ => " ",
        });
    }
    out
}

struct Subreddit {
    name: String,
    id: String,
}

/// `count` lines, the same for the same seed.
pub fn comments(count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(seed);
    let subreddits: Vec<Subreddit> = (0..2000)
        .map(|_| {
            let len = rng.usize(5..20);
            Subreddit { name: id(&mut rng, len), id: format!("t5_{}", id(&mut rng, 5)) }
        })
        .collect();
    (0..count).map(|at| comment(&mut rng, &subreddits, at).into_bytes()).collect()
}

/// `null`, or text in quotes.
fn text_or_null(text: Option<String>) -> String {
    text.map_or("null".to_owned(), |text| format!("\"{text}\""))
}

fn comment(rng: &mut Rng, subreddits: &[Subreddit], at: usize) -> String {
    let mut out = String::with_capacity(1500);
    // Popular ones are more frequent.
    let skewed = rng.f64() * rng.f64() * rng.f64();
    let subreddit = &subreddits[(skewed * subreddits.len() as f64) as usize];
    let (name, subreddit_id) = (&subreddit.name, &subreddit.id);
    let comment_id = id(rng, 7);
    let link = id(rng, 6);
    let awards = if rng.u32(..100) == 0 { rng.usize(1..3) } else { 0 };
    head(&mut out, rng, awards);
    let len = (rng.f64() * rng.f64() * 560.0) as usize + 10 + if rng.u32(..50) == 0 { 1500 } else { 0 };
    let body = text(rng, len);
    let created = 1_564_617_600 + at as u32 / 60;
    let is_controversial = u32::from(rng.u32(..30) == 0);
    let _ = write!(
        out,
        "\"body\":\"{body}\",\"can_gild\":true,\"can_mod_post\":false,\"collapsed\":{},\"collapsed_reason\":null,\
         \"controversiality\":{is_controversial},\"created_utc\":{created},\"distinguished\":{},\"edited\":{},",
        rng.u32(..25) == 0,
        text_or_null((rng.u32(..80) == 0).then(|| "moderator".to_owned())),
        if rng.u32(..30) == 0 { (created + rng.u32(60..90_000)).to_string() } else { "false".to_owned() },
    );
    let gildings = if awards > 0 { format!("{{\"gid_1\":0,\"gid_2\":{awards},\"gid_3\":0}}") } else { "{}".to_owned() };
    let parent = if rng.u32(..3) == 0 { format!("t3_{link}") } else { format!("t1_{}", id(rng, 7)) };
    let slug = text(rng, 30).replace(['\\', '"', ' ', '.', ',', '–', '’', '(', ')', '[', ']'], "_");
    let _ = write!(
        out,
        "\"gilded\":{awards},\"gildings\":{gildings},\"id\":\"{comment_id}\",\"is_submitter\":{},\"link_id\":\"t3_{link}\",\
         \"locked\":false,\"no_follow\":{},\"parent_id\":\"{parent}\",\
         \"permalink\":\"/r/{name}/comments/{link}/{slug}/{comment_id}/\",\"quarantined\":false,\"removal_reason\":null,\
         \"retrieved_on\":{},\"score\":{},\"send_replies\":{},\"steward_reports\":[],\"stickied\":{},\
         \"subreddit\":\"{name}\",\"subreddit_id\":\"{subreddit_id}\",\"subreddit_name_prefixed\":\"r/{name}\",\
         \"subreddit_type\":\"public\",\"total_awards_received\":{awards}}}",
        rng.u32(..10) == 0,
        rng.bool(),
        1_573_370_605 + at / 50,
        rng.i32(-3..60) * if rng.u32(..20) == 0 { 20 } else { 1 },
        rng.u32(..15) != 0,
        rng.u32(..100) == 0,
    );
    out
}

/// The fields up to `body`: those of the author, who may have deleted the account or may have a flair.
fn head(out: &mut String, rng: &mut Rng, awards: usize) {
    out.push_str("{\"all_awardings\":[");
    for award in 0..awards {
        let comma = if award > 0 { "," } else { "" };
        let _ = write!(
            out,
            "{comma}{{\"award_type\":\"global\",\"coin_price\":{},\"count\":1,\"days_of_premium\":{},\"description\":\"{}\",\
             \"icon_height\":512,\"icon_url\":\"https://www.example.com/gold.png\",\"id\":\"gid_{award}\",\
             \"is_enabled\":true,\"name\":\"Gold\",\"resized_icons\":[{{\"height\":16,\"url\":\"https://example.com/16\",\
             \"width\":16}},{{\"height\":32,\"url\":\"https://example.com/32\",\"width\":32}}],\"start_date\":null}}",
            rng.u32(1..6) * 100,
            rng.u32(..30),
            text(rng, 40)
        );
    }
    out.push_str("],\"associated_award\":null,");
    if rng.u32(..20) == 0 {
        out.push_str(
            "\"author\":\"[deleted]\",\"author_flair_background_color\":null,\"author_flair_css_class\":null,\
             \"author_flair_template_id\":null,\"author_flair_text\":null,\"author_flair_text_color\":null,\"awarders\":[],",
        );
        return;
    }
    let name_len = rng.usize(4..20);
    let author = id(rng, name_len);
    // Accounts made lately lack the field.
    let created = if rng.u32(..40) == 0 {
        String::new()
    } else {
        format!("\"author_created_utc\":{},", rng.u32(1_200_000_000..1_564_000_000))
    };
    let _ = write!(out, "\"author\":\"{author}\",{created}");
    let flair = (rng.u32(..100) < 30).then(|| text(rng, 12).replace(['\\', '"', '\n'], " "));
    let rich = if flair.is_some() && rng.bool() {
        format!("[{{\"e\":\"text\",\"t\":{}}}]", text_or_null(flair.clone()))
    } else {
        "[]".to_owned()
    };
    let class = text_or_null(flair.as_ref().map(|_| id(rng, 6)));
    let template = (flair.is_some() && rng.bool())
        .then(|| format!("{}-{}-{}-{}-{}", id(rng, 8), id(rng, 4), id(rng, 4), id(rng, 4), id(rng, 12)));
    let kind = if rich == "[]" { "text" } else { "richtext" };
    let color = text_or_null(flair.as_ref().map(|_| "dark".to_owned()));
    let _ = write!(
        out,
        "\"author_flair_background_color\":{},\"author_flair_css_class\":{class},\"author_flair_richtext\":{rich},\
         \"author_flair_template_id\":{},\"author_flair_text\":{},\"author_flair_text_color\":{color},\
         \"author_flair_type\":\"{kind}\",\"author_fullname\":\"t2_{}\",\"author_patreon_flair\":false,\"awarders\":[],",
        text_or_null(flair.as_ref().map(|_| String::new())),
        text_or_null(template),
        text_or_null(flair),
        id(rng, 6),
    );
}
