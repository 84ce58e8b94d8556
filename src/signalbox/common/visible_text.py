"""Texts of others in a line that is printed or logged: a terminal must not act on them, and they must not look like
lines of ours.

A topic, a client id, a host name or an error message of a peer may contain anything: escape sequences of terminals,
line breaks, marks that reverse the direction of writing, or 20,000 characters. A value in a wrong place may
contain a password. `security/clean_text.py` is for the reports of the doctor, which also know the secrets to hide.
"""

from __future__ import annotations

import re

MAX_LINE = 1_000
HIDDEN = "****"
_BETWEEN = " ... "

# `user:password@host`; a principal (`User:alice@REALM`) and a rule that maps one have no password
_LOGIN = re.compile(r"""(?<![\w.$\[-])(?!User:|RULE:)[^\s:@/,;'"=\[\]]*:(?!//)(\S+)@""")
_LOGIN_IN_URL = re.compile(r"""(?<=://)([^\s:@/'"]*):[^\s'"]+@""")


def visible(text: str, keep: str = "") -> str:
    r"""`text` with what cannot be printed as an escape (`\x1b`, `\n`); the characters in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else _escape(one) for one in text)


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """`text` as one line that can be printed, of about `limit` characters: a longer one loses its middle, since an
    address ends with the port and a problem with the reason."""
    if len(text) > limit:
        end = limit // 4
        text = f"{text[: limit - end]}{_BETWEEN}{text[-end:]}"
    return visible(text)


def clip(text: str, longest: int) -> str:
    """`text`, or its first `longest` characters and three dots."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def without_logins(text: str) -> str:
    """`text` with the passwords of its URLs hidden: `s3://user:****@host`."""
    return _LOGIN_IN_URL.sub(rf"\1:{HIDDEN}@", text)


def passwords_in(value: str) -> list[str]:
    """What may be a password in the value of an address, `user:password@host`, longest first: a sentence about the
    value may have it as a whole, as Python quotes it, or between commas."""
    found = set()
    for password in _LOGIN.findall(value):
        found |= {password, repr(password)[1:-1], *password.split(",")}
    return sorted(found - {""}, key=len, reverse=True)


def hide(text: str, passwords: list[str]) -> str:
    """`text` without these passwords."""
    for password in passwords:
        text = text.replace(password, HIDDEN)
    return text


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
