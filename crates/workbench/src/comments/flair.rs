//! Flair: the text next to the name of an author in a subreddit. It is a function of the author and the subreddit, so
//! it never changes.

use super::author::Author;
use super::digits;
use super::lexicon::{Class, Lexicon};
use super::random::mix;
use super::subreddit::Subreddit;

/// The flair fields of one comment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flair {
    /// Determines words, colours and ids. All authors with the same flair have the same value.
    choice: u64,
    look: Look,
}

/// The kind of flair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    None,
    /// A class of the subreddit's style sheet, without text.
    Class,
    /// Plain text, in an old style sheet's class.
    Text,
    /// Text from a template, with colours.
    Template,
    /// Emoji and text from a template.
    Rich,
}

impl Flair {
    /// The flair of `author` in `subreddit`.
    pub(crate) fn of(author: Author, subreddit: Subreddit) -> Self {
        let here = subreddit.hash();
        let both = mix(author.hash() ^ here);
        // Two in five subreddits offer flair. In these, two in five authors choose one of about twenty flairs.
        let look = match here >> 16 & 15 {
            _ if both & 7 > 2 => Look::None,
            0 => Look::Class,
            1 | 2 => Look::Text,
            3 => Look::Template,
            4 | 5 => Look::Rich,
            _ => Look::None,
        };
        let skew = (both >> 8 & 15) & (both >> 16 & 31);
        Self { choice: mix(here.wrapping_add(skew)), look }
    }

    /// Appends the members from `author_flair_background_color` up to `author_flair_css_class`.
    pub(crate) fn write_head(self, out: &mut Vec<u8>) {
        match self.look {
            Look::Template | Look::Rich => {
                const COLORS: [&str; 8] =
                    ["", "#dadada", "#0079d3", "#ea0027", "#46d160", "transparent", "#ffb000", "#373c3f"];
                push(out, ",\"author_flair_background_color\":\"");
                push(out, COLORS[(self.choice & 7) as usize]);
                push(out, "\"");
            }
            Look::Text => push(out, ",\"author_flair_background_color\":\"\""),
            Look::Class | Look::None => push(out, ",\"author_flair_background_color\":null"),
        }
        match self.look {
            Look::Class | Look::Text => {
                push(out, ",\"author_flair_css_class\":\"flair-");
                digits::decimal(out, self.choice >> 8 & 31);
                push(out, "\"");
            }
            _ => push(out, ",\"author_flair_css_class\":null"),
        }
    }

    /// Appends the member `author_flair_richtext`.
    pub(crate) fn write_richtext(self, lexicon: &Lexicon, subreddit: Subreddit, out: &mut Vec<u8>) {
        push(out, ",\"author_flair_richtext\":[");
        if self.look == Look::Rich {
            push(out, "{\"a\":\":");
            self.write_emoji(lexicon, out);
            push(out, ":\",\"e\":\"emoji\",\"u\":\"https://emoji.redditmedia.com/");
            digits::base36(out, 36u64.pow(12) + self.choice % 36u64.pow(12));
            out.push(b'_');
            super::subreddit::write_id(out, subreddit);
            out.push(b'/');
            self.write_emoji(lexicon, out);
            push(out, "\"}");
            if self.has_text() {
                push(out, ",{\"e\":\"text\",\"t\":\" ");
                self.write_words(lexicon, out);
                push(out, "\"}");
            }
        } else if self.look == Look::Template {
            push(out, "{\"e\":\"text\",\"t\":\"");
            self.write_words(lexicon, out);
            push(out, "\"}");
        }
        out.push(b']');
    }

    /// Appends the members from `author_flair_template_id` up to `author_flair_text_color`.
    pub(crate) fn write_tail(self, lexicon: &Lexicon, out: &mut Vec<u8>) {
        match self.look {
            Look::Template | Look::Rich => {
                push(out, ",\"author_flair_template_id\":\"");
                digits::uuid(out, self.choice);
                push(out, "\"");
            }
            _ => push(out, ",\"author_flair_template_id\":null"),
        }
        match self.look {
            Look::None | Look::Class => push(out, ",\"author_flair_text\":null"),
            look => {
                push(out, ",\"author_flair_text\":\"");
                if look == Look::Rich {
                    out.push(b':');
                    self.write_emoji(lexicon, out);
                    push(out, if self.has_text() { ": " } else { ":" });
                }
                if look != Look::Rich || self.has_text() {
                    self.write_words(lexicon, out);
                }
                out.push(b'"');
            }
        }
        push(
            out,
            match self.look {
                Look::None | Look::Class => ",\"author_flair_text_color\":null",
                Look::Rich if self.choice & 1 == 0 => ",\"author_flair_text_color\":\"light\"",
                _ => ",\"author_flair_text_color\":\"dark\"",
            },
        );
    }

    /// Appends the member `author_flair_type`.
    pub(crate) fn write_type(self, out: &mut Vec<u8>) {
        let rich = matches!(self.look, Look::Template | Look::Rich);
        push(out, if rich { ",\"author_flair_type\":\"richtext\"" } else { ",\"author_flair_type\":\"text\"" });
    }

    fn has_text(self) -> bool {
        self.choice & 6 != 0
    }

    fn write_emoji(self, lexicon: &Lexicon, out: &mut Vec<u8>) {
        lexicon.write_word(out, Class::Noun, (self.choice >> 20 & 1023) as usize);
    }

    fn write_words(self, lexicon: &Lexicon, out: &mut Vec<u8>) {
        super::author::write_capital(lexicon, out, Class::Adjective, (self.choice >> 32 & 255) as usize);
        out.push(b' ');
        super::author::write_capital(lexicon, out, Class::Noun, (self.choice >> 40 & 511) as usize);
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}
