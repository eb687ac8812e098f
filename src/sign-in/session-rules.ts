// Decides whether a session may be used now: by its age, and by its second factor where one is required. Decided at each
// request, so that a changed setting applies to existing sessions.

import type { FoundSession } from './messages.ts';

/** The rules for the sessions of one person. */
export interface SessionRules {
  /** From the sign-in, however much the session is used. */
  lifetimeMs: number;
  needsSecondFactor: boolean;
}

/** `limited`: the person can only set up a second factor, or sign out. */
export type SessionState = 'valid' | 'limited' | 'ended';

/**
 * The issuer of single sign-on has second factors of its own. A session that began before the person had a second factor
 * has not proven it: it ends, so that a stolen password becomes no access when the owner sets one up.
 */
export function sessionState(session: FoundSession, rules: SessionRules, nowMs: number): SessionState {
  const { createdAtMs, proof, hasSecondFactor } = session;
  if (nowMs - createdAtMs >= rules.lifetimeMs) return 'ended';
  if (!rules.needsSecondFactor || proof === 'single-sign-on') return 'valid';
  if (!hasSecondFactor) return 'limited';
  return proof === 'second-factor' ? 'valid' : 'ended';
}
