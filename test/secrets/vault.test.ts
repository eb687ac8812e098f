// What one secret hashes and seals, another does not; while it is being replaced both are known.

import { expect, test } from 'bun:test';
import { openVault, SealBroken } from '../../src/secrets/secrets.ts';

const [first, second, third] = [1, 2, 3].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer, Buffer];

test('a hash names the secret under which it was made, and is another under another', () => {
  const [one, other] = [openVault(first), openVault(second)];
  expect(one.hash('a')).toBe(openVault(first).hash('a'));
  expect(one.hash('a')).toStartWith(`${one.id}.`);
  expect(one.proof).toStartWith(one.id);
  expect(one.hash('a').slice(9)).not.toBe(other.hash('a').slice(9));
  expect(one.hash('a')).not.toBe(one.hash('b'));
});

test('what was sealed opens in its own context only, and not when one bit of it is another', () => {
  const vault = openVault(first);
  const sealed = vault.seal('credential', 'provider:a');
  expect(vault.open(sealed, 'provider:a')).toBe('credential');
  expect(sealed).not.toContain('credential');
  expect(vault.seal('credential', 'provider:a')).not.toBe(sealed);
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  for (const [text, context] of [
    [sealed, 'provider:b'],
    [`v1.${bytes.toString('base64url')}`, 'provider:a'],
    ['v1.', 'provider:a'],
    ['credential', 'provider:a'],
  ] as const)
    expect(() => vault.open(text, context)).toThrow(SealBroken);
});

test('with the secret before it, what that one made is found and opened, and nothing is made under it', () => {
  const former = openVault(first);
  const vault = openVault(second, first);
  expect(vault.previous).toMatchObject({ id: former.id, proof: former.proof });
  expect(vault.previous?.hash('a')).toBe(former.hash('a'));
  expect(vault.hash('a')).toBe(openVault(second).hash('a'));
  expect(vault.open(former.seal('credential', 'context'), 'context')).toBe('credential');
  const sealed = vault.seal('credential', 'context');
  expect(openVault(second).open(sealed, 'context')).toBe('credential');
  expect(() => former.open(sealed, 'context')).toThrow(SealBroken);
  expect(() => vault.open(openVault(third).seal('credential', 'context'), 'context')).toThrow(SealBroken);
});

test('with itself for the one before it there is none before it', () => {
  expect(openVault(first, Buffer.from(first)).previous).toBeNull();
});
