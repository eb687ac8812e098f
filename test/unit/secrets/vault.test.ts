// Hashes and seals depend on the secret. While it is being replaced, both secrets are known.

import { expect, test } from 'bun:test';
import { openVault, SealBroken } from '../../../src/secrets/secrets.ts';

const [first, second, third] = [1, 2, 3].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer, Buffer];

test('a keyed hash depends on the secret', () => {
  const [one, other] = [openVault(first), openVault(second)];
  expect(one.hash('a')).toBe(openVault(first).hash('a'));
  expect(one.proof).toStartWith(one.id);
  expect(one.hash('a')).not.toBe(other.hash('a'));
  expect(one.hash('a')).not.toBe(one.hash('b'));
});

test('a sealed value opens only in its own context, and not if any bit was changed', () => {
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

test('with a former secret, its seals can be opened, and new ones use the present secret', () => {
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

test('a former secret equal to the present one counts as none', () => {
  expect(openVault(first, Buffer.from(first)).previous).toBeNull();
});
