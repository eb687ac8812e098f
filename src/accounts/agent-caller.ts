// The sender of a verified token of a coding agent. The key of its grant pays; nothing here is taken from headers.

import type { TurnpikeError } from '../errors.ts';

/** The coding agents that people can sign in. */
export const AGENT_CLIENTS = ['claude-code', 'codex'] as const;
export type AgentClient = (typeof AGENT_CLIENTS)[number];

export interface AgentCaller {
  /** Number of the grant, which is looked up for each request. */
  grant: number;
  person: number;
  client: AgentClient;
  email: string | null;
  name: string;
  /** Groups of the directory, as of the last refresh. */
  groups: readonly string[];
}

/** Reads tokens of coding agents without a query. */
export interface AgentTokenReader {
  /** null: not such a token, or one that this installation did not sign. An error: key_expired. */
  read(text: string, nowMs: number): AgentCaller | TurnpikeError | null;
}
