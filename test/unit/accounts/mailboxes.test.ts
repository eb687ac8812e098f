// The rules by which addresses of one vendor are one mailbox, over every row of the table.

import { describe, expect, test } from 'bun:test';
import { creditKeysOf, isOfMailProvider, ownedDomainOf } from '../../../src/accounts/accounts.ts';
import { aliasRules, mailboxOf } from '../../../src/accounts/mailboxes.ts';

const domains = aliasRules.flatMap((rule) => rule.domains.map((domain) => ({ domain, rule })));

test('a domain has one rule, and each rule has a source with a date', () => {
  const names = domains.map(({ domain }) => domain);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  for (const { source, readOn } of aliasRules) {
    expect(source).toMatch(/^(?:https?:\/\/|RFC )/);
    expect(new Date(readOn).toISOString()).toStartWith(readOn);
  }
});

describe.each(domains)('$domain', ({ domain, rule }) => {
  const box = mailboxOf(`user@${domain}`);

  test('has one mailbox for a name in any case, with any tag', () => {
    for (const form of ['USER', 'user+a', 'user+a+b', 'User+a-b.c'])
      expect(mailboxOf(`${form}@${domain.toUpperCase()}`)).toBe(box);
    if (rule.tagAfter !== undefined)
      for (const tag of ['a', 'b-c', 'd+e']) expect(mailboxOf(`user${rule.tagAfter}${tag}@${domain}`)).toBe(box);
    expect(mailboxOf(box)).toBe(box);
    expect(isOfMailProvider(`user@${domain}`)).toBe(true);
  });

  test('keeps dots, hyphens and underscores apart unless the vendor does not', () => {
    for (const sign of ['.', '-', '_']) {
      const isIgnored = rule.ignored !== undefined && `u${sign}r`.replace(rule.ignored, '') === 'ur';
      if (sign === rule.tagAfter) continue;
      expect([sign, mailboxOf(`us${sign}er@${domain}`) === box]).toEqual([sign, isIgnored]);
    }
    if (rule.alike !== undefined) {
      const [one, other] = rule.alike;
      expect(mailboxOf(`us${one}er@${domain}`)).toBe(mailboxOf(`us${other}er@${domain}`));
    }
  });

  test('shares mailboxes with the other domains of its row only if the vendor says so', () => {
    const [first = ''] = rule.domains;
    expect(mailboxOf(`user@${first}`) === box).toBe(rule.isOneMailbox === true || first === domain);
  });

  test('has names below it only if the vendor gives them to users', () => {
    const below = mailboxOf(`anything+tag@user.${domain}`);
    expect(below).toBe(rule.hasSubdomains === true ? box : `anything@user.${domain}`);
  });
});

test('an underscore in the name of a user is a hyphen in their subdomain', () => {
  expect(mailboxOf('a@joe-citizen.fastmail.co.uk')).toBe(mailboxOf('joe_citizen@fastmail.co.uk'));
  expect(mailboxOf('a@b.joe.fastmail.com')).toBe(mailboxOf('joe@fastmail.com'));
});

test('other domains have a mailbox for each name, and credit for each registered domain', () => {
  expect(mailboxOf('A.d-a+x@Firm.example')).toBe('a.d-a@firm.example');
  const keyOf = (email: string, open: string[] = []) => creditKeysOf(email, open)[0];
  expect(keyOf('a@firm.example')).toBe(keyOf('b@x.y.firm.example'));
  expect(keyOf('a@firm.co.uk')).not.toBe(keyOf('a@other.co.uk'));
  expect(keyOf('a@firm.example', ['firm.example'])).not.toBe(keyOf('b@firm.example', ['firm.example']));
  expect(ownedDomainOf('a@x.firm.co.uk')).toBe('firm.co.uk');
});

test('two people of one provider never have a key of credit in common', () => {
  const people = [
    'eve.x@outlook.com',
    'eve-x@outlook.com',
    'evex@outlook.com',
    'evex@hotmail.com',
    'evex@gmx.net',
    'evex@gmx.de',
  ];
  const keys = people.flatMap((email) => [...new Set(creditKeysOf(email, []))]);
  expect(new Set(keys).size).toBe(keys.length);
});
