// The name, logo and addresses of the installation: what is accepted, and what could harm people who see it.

import { expect, test } from 'bun:test';
import { planApply } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { planOptions } from './support.ts';

const faultsOf = (settings: object) => planApply([], { settings }, planOptions()).faults.map(({ message }) => message);
const image = (type: string, bytes: string | Uint8Array) =>
  `data:image/${type};base64,${Buffer.from(bytes as string).toString('base64')}`;
const png = (length: number) => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(length - 8)]);
const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>';

const taken = {
  installation_name: ['A', 'Acme AI', 'Ärzte & Söhne', '日本電気', 'x'.repeat(bounds.installationNameCharactersMax)],
  installation_logo: [
    image('png', png(64)),
    image('png', png(bounds.logoBytesMax)),
    image('svg+xml', svg),
    image('svg+xml', `<?xml version="1.0"?>\n<!-- by hand -->\n${svg}`),
    null,
  ],
  support_address: ['help@example.com', 'https://example.com/support?from=console', null],
  recharge_instructions: ['Send a bank transfer to DE00 0000.\nName your account.', null],
  landing_title: ['Acme AI', null],
  landing_text: ['All **models**.', null],
  landing_links: [[], ['Documentation: https://example.com/docs?a=b#c', 'Über uns: https://example.com']],
  terms_of_service: ['# Terms\n\nBe kind.', 'https://example.com/terms', null],
  privacy_policy: ['We keep what you do for 30 days.', 'x'.repeat(bounds.termsCharactersMax), null],
};

const refused = {
  installation_name: [
    '',
    ' Acme',
    'Acme\nBcc: x',
    'Acme\u202e',
    'x'.repeat(bounds.installationNameCharactersMax + 1),
    null,
  ],
  installation_logo: [
    'https://example.com/logo.png',
    image('jpeg', png(64)),
    image('png', svg),
    image('svg+xml', png(64)),
    image('svg+xml', '<html><svg/></html>'),
    image('svg+xml', '<svg><script>alert(1)</script></svg>'),
    image('png', png(bounds.logoBytesMax + 1)),
    `${image('png', png(64))}" onload="alert(1)`,
    'data:image/png;base64,',
    'data:text/html;base64,PHN2Zz4=',
  ],
  support_address: [
    'help',
    'http://example.com',
    'javascript:alert(1)',
    'https://user:password@example.com',
    'help@example.com, other@example.com',
    'help@example.com?bcc=x',
    `https://example.com/${'x'.repeat(bounds.supportAddressCharactersMax)}`,
  ],
  landing_title: ['', 'two\nlines', 'x'.repeat(bounds.landingTitleCharactersMax + 1)],
  landing_text: ['', 'a\u0000b', 'x'.repeat(bounds.landingTextCharactersMax + 1)],
  landing_links: [
    ['Home: javascript:alert(1)'],
    ['Home: http://example.com'],
    ['Home: //example.com'],
    ['https://example.com'],
    ['Home: https://user:password@example.com'],
    ['Ho\u202eme: https://example.com'],
    ['Home: https://example.com/a b'],
    ['Home: https://example.com/1', 'Home: https://example.com/2'],
    Array.from({ length: bounds.landingLinksMax + 1 }, (_, at) => `Link ${at}: https://example.com`),
  ],
  terms_of_service: ['', 'a\u202eb', 'x'.repeat(bounds.termsCharactersMax + 1)],
  privacy_policy: ['', 'a\u0000b'],
  recharge_instructions: ['', 'a\u0000b', 'a\u202eb', 'x'.repeat(bounds.rechargeTextCharactersMax + 1)],
};

test('names, images and addresses that people can be shown are accepted', () => {
  for (const [name, values] of Object.entries(taken))
    for (const value of values) expect([name, value, faultsOf({ [name]: value })]).toEqual([name, value, []]);
});

test('control characters, scripts, other images and other addresses are refused', () => {
  for (const [name, values] of Object.entries(refused))
    for (const value of values) expect([name, value, faultsOf({ [name]: value }).length]).toEqual([name, value, 1]);
});

test('a version of the terms is one line, and needs something to agree to', () => {
  const terms = { terms_of_service: 'https://example.com/terms' };
  expect(faultsOf({ ...terms, terms_version: '2026-11' })).toEqual([]);
  expect(faultsOf({ ...terms, terms_version: ' 2' })).toHaveLength(1);
  expect(faultsOf({ ...terms, terms_version: 'x'.repeat(bounds.termsVersionCharactersMax + 1) })).toHaveLength(1);
  expect(faultsOf({ terms_version: '2026-11' })).toEqual(['requires terms_of_service or privacy_policy']);
});
