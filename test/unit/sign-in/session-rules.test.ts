// The rules by which a session is valid, limited to the set-up of a second factor, or ended.

import { expect, test } from 'bun:test';
import { type SessionState, sessionState } from '../../../src/sign-in/session-rules.ts';
import type { FoundSession, Proof } from '../../../src/sign-in/sign-in.ts';

const stateOf = (needsSecondFactor: boolean, proof: Proof, hasSecondFactor: boolean, ageMs = 0) => {
  const session: FoundSession = { email: 'ann@example.com', createdAtMs: 5_000, proof, hasSecondFactor, cookies: [] };
  return sessionState(session, { lifetimeMs: 1_000, needsSecondFactor }, 5_000 + ageMs);
};

test.each<[boolean, Proof, boolean, SessionState]>([
  [false, 'password', false, 'valid'],
  [false, 'password', true, 'valid'], // it began before the factor
  [false, 'second-factor', true, 'valid'],
  [false, 'single-sign-on', false, 'valid'],
  [true, 'password', false, 'limited'],
  [true, 'password', true, 'ended'],
  [true, 'second-factor', true, 'valid'],
  [true, 'second-factor', false, 'limited'], // the factor was turned off meanwhile, or is being replaced
  [true, 'single-sign-on', false, 'valid'],
  [true, 'single-sign-on', true, 'valid'],
])('required: %p, proof: %s, the person has a second factor: %p: %s', (isRequired, proof, has, state) => {
  expect(stateOf(isRequired, proof, has)).toBe(state);
});

test.each<Proof>(['password', 'second-factor', 'single-sign-on'])(
  'ends at its lifetime after a sign-in by %s',
  (proof) => {
    expect(stateOf(false, proof, true, 999)).toBe('valid');
    expect(stateOf(false, proof, true, 1_000)).toBe('ended');
    expect(stateOf(true, proof, false, 1_000)).toBe('ended');
  },
);
