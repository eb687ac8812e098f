// Incidents: problems with their beginning, their end, and the accounts that they affect. They are stored, so that all nodes report
// the same and a restart does not lose when they began.

import type { Nano } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';

export const incidentKinds = [
  'model_failing',
  'provider_failing',
  'route_failing',
  'account_refused',
  'key_refused',
  'requests_rejected',
  'credential_unreadable',
  'destination_failing',
  'mail_failing',
  'recharge_failing',
  'export_failing',
  'backup_failing',
  'task_failing',
  'telemetry_failing',
  'negative_margin',
  'prices_outdated',
] as const;
export type IncidentKind = (typeof incidentKinds)[number];

export interface IncidentFacts {
  kind: IncidentKind;
  severity: 'warning' | 'critical';
  model: string | null;
  provider: string | null;
  upstreamModel: string | null;
  key: number | null;
  /** The name of what fails, if it is none of these: a destination, an export, a task. */
  subject: string | null;
  /** The number of a destination or an export. */
  subjectId: number | null;
  /** A fault of a provider, or an error code. */
  cause: string | null;
  /** The last words of the provider or the service, and when. */
  said: string | null;
  saidAtMs: number | null;
  /** Models whose routes are affected. */
  models: readonly string[];
  /** Requests that were affected since it began, at most in the last day; null: not counted. */
  requests: number | null;
  /** All requests of the same time, of the same model or account. */
  ofRequests: number | null;
  /** Accounts that were affected; null: not counted. */
  accounts: number | null;
  /** Those with most affected requests, the most first. */
  mostAffected: readonly AffectedAccount[];
  /** Money that is lost. */
  loss: Nano | null;
}

export interface AffectedAccount {
  account: number;
  requests: number;
}

export interface NewIncident {
  /** Identifies the problem. At most one incident of a name is open. */
  name: string;
  /** The account that it concerns; null: the installation. */
  account: number | null;
  beganAtMs: number;
  /** When the problem was last seen. */
  seenAtMs: number;
  facts: IncidentFacts;
}

export interface Incident extends NewIncident {
  /** Its public id is formatId('inc', seq). */
  seq: number;
  /** null: it is open. */
  endedAtMs: number | null;
}

/** Rows to store: an incident that begins unless its name is open, or an open one as it is now, with an event of the same transaction. */
export type IncidentChange = { begin: NewIncident } | { update: Incident; event?: NewEvent };

export interface IncidentStore {
  /** Every open one, in the order of their beginning. Bounded. */
  listOpenIncidents(): Promise<Incident[]>;
  /** Those that ended since then, the latest first; of one kind, or of all. */
  listEndedIncidents(sinceMs: number, limit: number, kind?: IncidentKind): Promise<Incident[]>;
  /** Rejects with store_unavailable. */
  changeIncidents(changes: readonly IncidentChange[]): Promise<void>;
}

const NOTHING_KNOWN = {
  model: null,
  provider: null,
  upstreamModel: null,
  key: null,
  subject: null,
  subjectId: null,
  cause: null,
  said: null,
  saidAtMs: null,
  models: [],
  requests: null,
  ofRequests: null,
  accounts: null,
  mostAffected: [],
  loss: null,
} as const;

/** Facts of which others are unknown. */
export function facts(
  kind: IncidentKind,
  severity: IncidentFacts['severity'],
  known: Partial<IncidentFacts>,
): IncidentFacts {
  return { ...NOTHING_KNOWN, ...known, kind, severity };
}

/** Critical ones first, then those that affect most. */
export function mostAffectingFirst(one: Incident, other: Incident): number {
  const rank = ({ facts: { severity } }: Incident) => (severity === 'critical' ? 0 : 1);
  const hit = ({ facts: { accounts } }: Incident) => accounts ?? 0;
  const requests = ({ facts: { requests: count } }: Incident) => count ?? 0;
  return (
    rank(one) - rank(other) ||
    hit(other) - hit(one) ||
    requests(other) - requests(one) ||
    one.beganAtMs - other.beganAtMs ||
    one.seq - other.seq
  );
}

/**
 * The incidents with one for each problem: a model that fails because of a provider which has an incident is part of that one, with the
 * accounts that it affects. For those who may see providers; customers see the models.
 */
export function onePerProblem(incidents: readonly Incident[]): Incident[] {
  const providers = incidents.filter(({ facts: { kind } }) => kind === 'provider_failing');
  const coverOf = ({ facts: { kind, model, provider } }: Incident) =>
    kind !== 'model_failing' || model === null
      ? undefined
      : providers.find(({ facts: of }) => of.provider === provider && of.models.includes(model));
  const covered = Map.groupBy(incidents, coverOf);
  return (covered.get(undefined) ?? []).map((incident) => {
    const parts = covered.get(incident) ?? [];
    if (parts.length === 0) return incident;
    const sums = new Map<number, number>();
    for (const { account, requests } of parts.flatMap(({ facts: { mostAffected } }) => mostAffected))
      sums.set(account, (sums.get(account) ?? 0) + requests);
    const mostAffected = [...sums]
      .map(([account, requests]) => ({ account, requests }))
      .sort((one, other) => other.requests - one.requests || one.account - other.account);
    const accounts = Math.max(sums.size, ...parts.map(({ facts: of }) => of.accounts ?? 0));
    return { ...incident, facts: { ...incident.facts, accounts, mostAffected } };
  });
}
