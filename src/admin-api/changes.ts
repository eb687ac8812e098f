// Steps shared by changes of the admin API: the change lock, creations that are safe to repeat under an idempotency
// key, and the audit record.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import {
  type AuditContext,
  type AuditRecord,
  creationContext,
  describeChange,
  type JsonMembers,
  type RememberedCreation,
} from '../audit/audit.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { Outpaced } from '../ledger/ledger.ts';
import { Secret } from '../secrets/secrets.ts';
import type { AdminEnvironment } from './admin-app.ts';
import { type AdminDependencies, type Principal, sharesBoundsOf } from './dependencies.ts';
import type { Call } from './route.ts';

/** One changed object, before and after, as the API shows it. */
export interface ChangeNote {
  /** Resource and verb: "key.create". */
  action: string;
  object: string;
  account: number | null;
  before: JsonMembers | null;
  after: JsonMembers | null;
}

export function changeNote(
  action: string,
  object: string,
  account: number | null,
  before: JsonMembers | null,
  after: JsonMembers | null,
): ChangeNote {
  return { action, object, account, before, after };
}

/** The audit context of the changes of a request, all for one account or the installation. */
export function recordAudit(
  { context, clock }: Pick<Call, 'context' | 'clock'>,
  notes: readonly ChangeNote[],
  creation: RememberedCreation | null = null,
): AuditContext {
  const { id, role } = context.get('actor') ?? context.get('principal');
  const actor = { id, role, address: context.env.address, requestId: context.get('requestId') };
  const records: AuditRecord[] = notes
    .map(({ before, after, ...note }) => ({ atMs: clock.nowMs(), actor, ...note, ...describeChange(before, after) }))
    // A change without a difference is not recorded.
    .filter(
      ({ before, after }) => before === null || after === null || Object.keys({ ...before, ...after }).length > 0,
    );
  context.set('records', records);
  const epoch = context.get('since');
  const [{ account = null } = {}] = notes;
  return { audit: records, creation, since: epoch === null ? null : { epoch, account } };
}

/**
 * Runs a change when the earlier ones have ended, and again when a change of another node outpaced it. Until the change
 * has written, it must have no effect that a retry would not repeat. It must read what it depends on from the store.
 * Throws the errors of the change, and overloaded if too many wait, after too long a wait, and after too many retries.
 */
export type WithChangeLock = <T>(context: Context<AdminEnvironment>, change: () => Promise<T>) => Promise<T>;

/**
 * Runs changes one after another: those of an account, or of an operator, in arrival order, and these take turns. A failed change
 * does not stop the next.
 */
export function makeChangeLock({ readEpoch }: Pick<AdminDependencies, 'readEpoch'>): WithChangeLock {
  const queue = new FairQueue<string>(
    {
      running: 1,
      runningPerOwner: 1,
      tasks: bounds.changesWaitingMax,
      tasksPerOwner: bounds.changesWaitingPerOwnerMax,
    },
    tooManyChanges,
  );
  let ofMembers = 0;
  return async (context, change) => {
    const principal = context.get('principal') as Principal | undefined; // absent on open routes
    const isOperator = principal !== undefined && principal.accountId === null;
    const owner = isOperator ? principal.id : `account ${(principal && sharesBoundsOf(principal)) ?? ''}`;
    if (!isOperator && ofMembers >= bounds.changesOfMembersWaitingMax) throw tooManyChanges();
    if (!isOperator) ofMembers++;
    try {
      using _turn = await enterWithin(queue, owner, bounds.changeWaitMsMax);
      return await changeAtLast(context, change, readEpoch);
    } finally {
      if (!isOperator) ofMembers--;
    }
  };
}

async function enterWithin(queue: FairQueue<string>, owner: string, msMax: number): Promise<Disposable> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(tooManyChanges()), msMax);
  try {
    return await queue.enter(owner, waiting.signal);
  } finally {
    clearTimeout(timer);
  }
}

const tooManyChanges = () => overloaded('Too many changes are waiting. Nothing was changed; try again shortly.');

async function changeAtLast<T>(
  context: Context<AdminEnvironment>,
  change: () => Promise<T>,
  readEpoch: AdminDependencies['readEpoch'],
): Promise<T> {
  for (let tries = 1; ; tries++) {
    context.set('since', (await readEpoch?.()) ?? null); // before everything the change is based on
    context.set('records', []); // a failed attempt leaves no records
    try {
      return await change();
    } catch (failure) {
      if (!(failure instanceof Outpaced)) throw failure;
      if (tries >= bounds.changeTriesMax)
        throw overloaded('Other nodes are making too many changes. Nothing was changed; try again shortly.');
      await Bun.sleep(Math.random() * bounds.changeRestMsMax);
    }
  }
}

/** A created object: its id, and the secret shown with it. */
export interface Made {
  object: string;
  secret: Secret | null;
}

export interface Created extends Made {
  /** Time of the first request. */
  atMs: number;
}

/** Returns the idempotency record of a creation for its audit context; null without a key. */
export type Remember = (object: string, secret: Secret | null) => RememberedCreation | null;

/**
 * Runs `make` under the change lock, unless the idempotency key created the same before. Throws idempotency_mismatch,
 * invalid_request for the key, and errors of `make`; then nothing is stored. `part`: which of several creations of the request.
 */
export function createOnce(
  call: Call,
  make: (remember: Remember, atMs: number) => Promise<Made>,
  part = '',
): Promise<Created> {
  return call.changeInTurn(async () => {
    const { audit, clock, vault, context } = call;
    const atMs = clock.nowMs();
    const given = readKey(context.req.header('idempotency-key'));
    if (given === null) return { ...(await make(() => null, atMs)), atMs };
    const idempotencyKey = given + part;
    const principal = context.get('principal').id;
    const request = [context.req.method, context.req.path, JSON.stringify(call.body)].join('\n');
    const requestHash = createHash('sha256').update(request).digest('base64url');
    const before = await audit.findCreation(principal, idempotencyKey);
    if (before !== null && before.atMs > atMs - bounds.creationRememberedMs)
      return { ...repeat(call, before, requestHash), atMs: before.atMs };
    const sealed = (secret: Secret) => vault.seal(secret.reveal(), creationContext({ principal, idempotencyKey }));
    const remember: Remember = (object, secret) => ({
      principal,
      idempotencyKey,
      atMs,
      requestHash,
      object,
      secretSealed: secret === null ? null : sealed(secret),
    });
    return { ...(await make(remember, atMs)), atMs };
  });
}

function repeat({ vault }: AdminDependencies, creation: RememberedCreation, requestHash: string): Made {
  if (creation.requestHash !== requestHash)
    throw new TurnpikeError(
      'idempotency_mismatch',
      'This idempotency key was used for a different request within the last 24 hours. Use a new key for a new request.',
    );
  const { principal, idempotencyKey, object, secretSealed } = creation;
  if (secretSealed === null) return { object, secret: null };
  return { object, secret: new Secret(vault.open(secretSealed, creationContext({ principal, idempotencyKey }))) };
}

/** The idempotency key of a request; null without one. Throws invalid_request. */
export function readKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (header === '' || header.length > bounds.idempotencyKeyCharactersMax || !/^[\x21-\x7e]+$/.test(header))
    throw new TurnpikeError(
      'invalid_request',
      `idempotency-key: must be 1 to ${bounds.idempotencyKeyCharactersMax} printable characters without spaces`,
    );
  return header;
}
