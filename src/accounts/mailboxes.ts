// Which addresses reach one mailbox, by the rules of the vendors. Only limits and credit of sign-ups count mailboxes: people
// sign in and are found by their exact address, because a rule may be wrong about two people.

import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';

interface AliasRule {
  domains: readonly string[];
  /** A name is the same mailbox at each of the domains. Otherwise different people may have it. */
  isOneMailbox?: true;
  /** Characters of a name that the vendor ignores. */
  ignored?: RegExp;
  /** The vendor reads the first character as the second one. */
  alike?: readonly [string, string];
  /** Begins a tag, besides "+". */
  tagAfter?: string;
  /** Any name at NAME.DOMAIN is an address of NAME@DOMAIN. */
  hasSubdomains?: true;
  source: string;
  readOn: string;
}

const at = (name: string, endings: string) => endings.split(/\s+/).map((ending) => `${name}.${ending}`);

/** Domains of vendors whose users are strangers to each other. "+" begins a tag everywhere. */
export const aliasRules: readonly AliasRule[] = [
  {
    domains: ['gmail.com', 'googlemail.com'],
    isOneMailbox: true,
    ignored: /\./g,
    source: 'https://support.google.com/mail/answer/7436150',
    readOn: '2026-11-28',
  },
  {
    domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'],
    isOneMailbox: true,
    ignored: /[._-]/g,
    source: 'https://proton.me/support/change-username, https://proton.me/support/addresses-and-aliases',
    readOn: '2026-11-28',
  },
  {
    domains: [
      ...at('yandex', 'ru com by kz ua uz com.tr com.ge com.am co.il az ee fr kg lt lv md tj tm'),
      'ya.ru',
      'narod.ru',
    ],
    isOneMailbox: true,
    alike: ['-', '.'],
    source:
      'https://yandex.com/support/passport/authorization/registration.html, https://yandex.com/support/domain/additional/mailbox-alias.xml',
    readOn: '2026-11-28',
  },
  {
    domains: [
      ...at('yahoo', 'com ca de dk es fi fr gr hu ie in it nl no pl pt ro se at be cl'),
      ...at('yahoo', 'co.id co.il co.in co.jp co.kr co.nz co.th co.uk co.za'),
      ...at(
        'yahoo',
        'com.ar com.au com.br com.co com.hk com.mx com.my com.pe com.ph com.sg com.tr com.tw com.ve com.vn',
      ),
      ...['ymail.com', 'rocketmail.com', 'myyahoo.com'],
    ],
    tagAfter: '-', // BASE-KEYWORD@; names of users have no hyphen
    source:
      'http://help.yahoo.com/help/uk/bt/tutorials/mail/addressguard2.html, https://about.yahoo.co.jp/pr/release/2007/12/03d/',
    readOn: '2026-11-28',
  },
  {
    domains: [
      ...at('fastmail', 'com fm cn co.uk com.au de es fr im in jp mx net nl org se to tw uk us'),
      ...['sent.com', 'eml.cc', 'f-m.fm', 'ftml.net', 'imap.cc', 'ml1.net', 'mm.st', 'realemail.net', 'warpmail.net'],
    ],
    hasSubdomains: true,
    alike: ['_', '-'], // a subdomain cannot have "_"; names of users have no hyphen
    source:
      'https://www.fastmail.help/hc/en-us/articles/360060591053, https://fastmail.com/blog/two-address-resolving-additions',
    readOn: '2026-11-28',
  },
  {
    domains: ['icloud.com', 'me.com', 'mac.com'],
    isOneMailbox: true,
    source: 'https://support.apple.com/en-vn/118230',
    readOn: '2026-11-28',
  },
  {
    domains: ['daum.net', 'hanmail.net'],
    isOneMailbox: true,
    source: 'https://rachan.tistory.com/6',
    readOn: '2026-11-28',
  },
  {
    domains: at('runbox', 'com no eu'),
    isOneMailbox: true,
    source: 'https://help.runbox.com/how-do-internet-domains-work-for-email/',
    readOn: '2026-11-28',
  },
  {
    domains: [
      ...at('outlook', 'com at be cl co.il co.nz co.th cz de dk es fr hu ie in it jp kr lv my ph pt sa sg sk'),
      ...at('outlook', 'com.ar com.au com.br com.gr com.pe com.tr com.vn'),
      ...at(
        'hotmail',
        'com at be ca cl co.il co.nz co.th co.uk cz de dk es fr hu ie in it jp kr lv my nl no ph pt sa se',
      ),
      ...at('hotmail', 'sg sk com.ar com.au com.br com.gr com.mx com.pe com.tr com.vn'),
      ...at('live', 'com at be ca cl cn co.uk co.za com.ar com.au com.mx com.pt de dk fr ie in it jp nl no ru se'),
      'msn.com',
    ],
    source:
      'https://learn.microsoft.com/en-us/exchange/recipients-in-exchange-online/plus-addressing-in-exchange-online',
    readOn: '2026-11-28',
  },
  {
    // No rule but that of "+" is known, or none that merges addresses.
    domains: (
      'aol.com gmx.de gmx.net gmx.com gmx.at gmx.ch web.de t-online.de freenet.de mail.ru inbox.ru list.ru bk.ru qq.com 163.com ' +
      '126.com sina.com naver.com zoho.com zohomail.com orange.fr wanadoo.fr free.fr laposte.net libero.it btinternet.com ' +
      'comcast.net verizon.net rediffmail.com uol.com.br bol.com.br seznam.cz wp.pl o2.pl onet.pl bluewin.ch mailbox.org ' +
      'posteo.de tutanota.com tutanota.de tutamail.com tuta.io tuta.com keemail.me hey.com'
    ).split(' '),
    source: 'RFC 5233, section 1',
    readOn: '2026-11-28',
  },
];

const ruleOfDomain = new Map(aliasRules.flatMap((rule) => rule.domains.map((domain) => [domain, rule] as const)));

interface Address {
  name: string;
  domain: string;
  rule: AliasRule | null;
}

/** In lower case, without the tag. An address at a subdomain of a vendor becomes that of its user. */
function readAddress(email: string): Address {
  const split = email.lastIndexOf('@');
  const domain = email.slice(split + 1).toLowerCase();
  const rule = ruleOfDomain.get(domain) ?? null;
  const [name = ''] = email.slice(0, split).toLowerCase().split('+');
  if (rule !== null) return { name: rule.tagAfter === undefined ? name : untagged(name, rule.tagAfter), domain, rule };
  const labels = domain.split('.');
  for (let above = 1; above < labels.length; above++) {
    const parent = labels.slice(above).join('.');
    const found = ruleOfDomain.get(parent);
    if (found?.hasSubdomains === true) return { name: labels[above - 1] ?? '', domain: parent, rule: found };
  }
  return { name, domain, rule: null };
}

function untagged(name: string, mark: string): string {
  return name.split(mark)[0] ?? '';
}

/** One mailbox has one form, in whatever form its address is written. */
export function mailboxOf(email: string): string {
  const { name, domain, rule } = readAddress(email);
  if (rule === null) return `${name}@${domain}`;
  const home = rule.isOneMailbox === true ? rule.domains[0] : domain;
  return `${plainName(name, rule)}@${home}`;
}

function plainName(name: string, { ignored, alike }: AliasRule): string {
  const kept = ignored === undefined ? name : name.replace(ignored, '');
  return alike === undefined ? kept : kept.replaceAll(...alike);
}

/** A hash, so that counters and a list of former sign-ups have no addresses. */
export function emailKeyOf(email: string): string {
  return keyOf(mailboxOf(email));
}

/**
 * The keys under which credit of a sign-up is remembered: the first one is that of a new sign-up, the others are those of
 * earlier versions. The owner of a domain has any number of mailboxes there, so that all of them count as one, except at
 * `openDomains`.
 */
export function creditKeysOf(email: string, openDomains: readonly string[]): [string, ...string[]] {
  const { domain } = readAddress(email);
  const isShared = isOfMailProvider(email) || openDomains.includes(domain);
  const key = isShared ? emailKeyOf(email) : keyOf(`*@${ownedDomainOf(email)}`);
  return [key, ...new Set(formerMailboxes(email).map(keyOf))];
}

/** How earlier versions wrote the mailbox: without the tag, and without dots at Gmail. Here at each domain of the mailbox. */
function formerMailboxes(email: string): string[] {
  const split = email.lastIndexOf('@');
  const [given = ''] = email.slice(0, split).toLowerCase().split('+');
  const { name, domain, rule } = readAddress(email);
  const own = `${given}@${email.slice(split + 1).toLowerCase()}`;
  if (rule === null) return [own];
  const [from = '', to = ''] = rule.alike ?? [];
  const names = [given, name, plainName(name, rule), ...(rule.alike === undefined ? [] : [name.replaceAll(to, from)])];
  const domains = rule.isOneMailbox === true ? rule.domains : [domain];
  return [own, mailboxOf(email), ...domains.flatMap((one) => names.map((form) => `${form}@${one}`))];
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

const SECOND_LEVELS = /^(?:ac|co|com|edu|gov|ltd|ne|net|or|org|plc)$/;

/** The domain that one owner registers: its owner has all names below it, and any number of addresses. */
export function ownedDomainOf(email: string): string {
  const labels = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.');
  const [last = '', second = ''] = labels.toReversed();
  assert(last !== '', 'an email has a domain');
  return labels.slice(last.length === 2 && SECOND_LEVELS.test(second) ? -3 : -2).join('.');
}

/** Whether strangers share the domain, so that a limit for each domain would exclude the many for the few. */
export function isOfMailProvider(email: string): boolean {
  return readAddress(email).rule !== null;
}
