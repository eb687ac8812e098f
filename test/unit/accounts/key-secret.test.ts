// The form of key secrets.

import { expect, test } from 'bun:test';
import { makeKeySecret } from '../../../src/accounts/accounts.ts';
import { hasKeyShape } from '../../../src/accounts/key-secret.ts';

test('a new secret has the published form and is recognized by its prefix', () => {
  const { secret, prefix } = makeKeySecret();
  expect(secret.reveal()).toMatch(/^sk-tp-[0-9A-Za-z]{49}$/);
  expect(hasKeyShape(secret.reveal())).toBe(true);
  expect(secret.reveal().startsWith(prefix)).toBe(true);
  expect(prefix).toHaveLength(10);
});

test('all 32 bytes are encoded in the secret, including the smallest and the largest value', () => {
  expect(makeKeySecret(new Uint8Array(32)).secret.reveal()).toMatch(/^sk-tp-0{43}/);
  const largest = makeKeySecret(new Uint8Array(32).fill(255)).secret.reveal();
  expect(hasKeyShape(largest)).toBe(true);
  const oneLess = new Uint8Array(32).fill(255);
  oneLess[31] = 254;
  expect(makeKeySecret(oneLess).secret.reveal()).not.toBe(largest);
});

test('a secret cannot be printed by accident', () => {
  const { secret } = makeKeySecret();
  expect(`${secret} ${JSON.stringify({ secret })} ${Bun.inspect(secret)}`).not.toContain('sk-tp-');
});

test('a key with one wrong character is invalid', () => {
  const text = makeKeySecret().secret.reveal();
  for (let place = 0; place < text.length; place++) {
    const other = text[place] === 'x' ? 'y' : 'x';
    expect(hasKeyShape(text.slice(0, place) + other + text.slice(place + 1))).toBe(false);
  }
});

test.each(['', 'sk-tp-', 'sk-ant-api03-abc', 'x'.repeat(100_000)])('text in another form is not a key', (text) => {
  expect(hasKeyShape(text)).toBe(false);
});

test('two joined keys, as from a duplicate header, are not a key', () => {
  const text = makeKeySecret().secret.reveal();
  expect(hasKeyShape(`${text}, ${text}`)).toBe(false);
  expect(hasKeyShape(`${text}\n`)).toBe(false);
});
