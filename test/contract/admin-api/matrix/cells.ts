// One cell of the matrix: a request, the status that the policy expects, and the parts of the response and of the
// store that violate the policy.

import type { Installation, Json } from '../installation.ts';
import { bodyRules, UNKNOWN_ACCOUNT } from './body-values.ts';
import type { Operation } from './operations.ts';
import {
  isWithin,
  membersOfHolders,
  membersOfTheInstallation,
  policy,
  type RouteRule,
  reachOf,
  statusOf,
} from './policy.ts';
import { scopeFaults } from './scope-faults.ts';
import { changesSince } from './tables.ts';
import { type Principal, restoreWorld, type World, type WorldObject } from './world.ts';

export interface Cell {
  operation: Operation;
  principal: Principal;
  path: string;
  body?: Json | undefined;
  headers?: Record<string, string>;
  expected: number;
  /** Another status that is equally correct. */
  orElse?: number;
}

export interface Answer {
  status: number;
  body: Json;
  text: string;
}

const codes: Record<number, string> = {
  400: 'invalid_request',
  403: 'role_not_allowed',
  404: 'object_not_found',
  409: 'conflict',
  415: 'content_type_unsupported',
  422: 'idempotency_mismatch',
};

/** For each kind of object, an id that does not exist. */
export const UNKNOWN_IDS = {
  account: UNKNOWN_ACCOUNT,
  key: 'key_000000000',
  token: 'tok_000000000',
  person: 'person_000000000',
  usage: 'req_0000000000000000000000000',
  provider: 'no-provider',
  destination: 'dest_000000000',
  export: 'exp_000000000',
  delivery: 'dlv_000000000',
  batch: 'msgbatch_000000000',
  'code-batch': 'batch_000000000',
  'directory-group': 'dgrp_000000000',
  view: 'view_000000000',
  payment: 'pay_000000000',
  'provider-bill': 'no-provider:2026-01-01',
  'provider-bill-source': 'no-provider',
  'agent-sign-in': 'agent_000000000',
  'device-code': 'BBBB-BBBB',
  integration: 'nothing',
};

/** A valid request; only its principal or its object can make it fail. */
export function plainCell(
  world: World,
  operation: Operation,
  principal: Principal,
  object: WorldObject | 'none' | null,
): Cell {
  const rule = ruleOf(operation.name);
  const id = object === null ? '' : object === 'none' ? UNKNOWN_IDS[rule.object ?? 'key'] : object.id;
  return {
    operation,
    principal,
    path: operation.path.replace(/\{\w+\}/, id),
    body: bodyRules[operation.name]?.least(
      principal.account === null ? world.accountIds.alpha : null,
      String(world.linkSecrets[0]),
      world.code,
    ),
    expected: statusOf(principal, operation.method, rule, object),
  };
}

/** Every object that the path can name, and one that does not exist; [null] if the path names none. */
export function objectsFor(world: World, operation: Operation): (WorldObject | 'none' | null)[] {
  const { object: kind } = ruleOf(operation.name);
  if (kind === null) return [null];
  return [...world.objects.filter((object) => object.kind === kind), 'none'];
}

/** The same, but one of those that differ for this principal only in their names. */
export function objectsOfEveryKind(
  world: World,
  operation: Operation,
  principal: Principal,
): (WorldObject | 'none' | null)[] {
  const alike = Map.groupBy(objectsFor(world, operation), (object) => {
    if (object === null || object === 'none') return object;
    const { account, isRevoked, maker, id } = object;
    return JSON.stringify([account, isRevoked, maker === principal.name, id === principal.id]);
  });
  return [...alike.values()].map(([first = null]) => first);
}

/** An object that the principal may reach, if there is one. */
export function ownObject(world: World, operation: Operation, principal: Principal): WorldObject | 'none' | null {
  const objects = objectsFor(world, operation);
  const isOwn = (object: WorldObject | 'none' | null) =>
    object !== null && object !== 'none' && !object.isRevoked && isMine(operation, principal, object);
  return objects.find(isOwn) ?? objects[0] ?? null;
}

export function isMine(operation: Operation, principal: Principal, object: WorldObject): boolean {
  return isWithin(reachOf(principal, ruleOf(operation.name)), principal, object);
}

export function ruleOf(name: string): RouteRule {
  const rule = policy[name];
  if (rule === undefined) throw new Error(`${name} has no row in matrix/policy.ts`);
  return rule;
}

/**
 * Sends the request, compares the result with the policy, and restores the store. Returns the response and every
 * fault as text.
 */
export async function tryCell(world: World, cell: Cell): Promise<{ answer: Answer; faults: string[] }> {
  const { installation, snapshot } = world;
  const { principal, operation } = cell;
  const catalogBefore = installation.catalog.current;
  const answer = await send(installation, cell);
  const changes = changesSince(installation.stores.tables, snapshot);
  const isRefused = cell.expected >= 400;
  const faults = [
    ...statusFaults(cell, answer),
    ...(operation.statuses.includes(answer.status) ? [] : [`answers ${answer.status}, which is not documented`]),
    ...(isRefused && changes.length > 0 ? [`is refused and changes ${changes.map(({ table }) => table)}`] : []),
    ...(isRefused && installation.catalog.current !== catalogBefore ? ['is refused but changes the catalog'] : []),
    ...(isRefused && installation.notifications.length > 0
      ? [`is refused but sent notifications: ${installation.notifications}`]
      : []),
    ...(operation.method === 'GET' && changes.length > 0 ? ['only reads but changes something'] : []),
    ...(principal.isKnown && !ruleOf(operation.name).isOpen ? scopeFaults(world, principal, changes) : []),
    ...wordFaults(world, cell, answer),
    ...(ruleOf(operation.name).isOpen ? [] : memberFaults(principal, answer.body)),
  ];
  if (changes.length > 0 || installation.notifications.length > 0) await restoreWorld(world);
  return { answer, faults: faults.map((fault) => `${describe(cell)} ${fault}`) };
}

export function describe({ principal, operation, path, body, headers }: Cell): string {
  const more = headers === undefined ? '' : ` ${JSON.stringify(headers)}`;
  return `${principal.name}: ${operation.method} ${path} ${body === undefined ? '' : JSON.stringify(body)}${more}`;
}

export async function send(installation: Installation, cell: Cell): Promise<Answer> {
  const { principal, operation, path, body, headers } = cell;
  const authorization = principal.authorization ?? '';
  const { status, body: answered } = await installation.ask(operation.method, path, body, {
    authorization,
    ...headers,
  });
  return { status, body: answered, text: JSON.stringify(answered) };
}

export interface CellsRun {
  count: number;
  faults: string[];
}

/** Tries all cells, one after another. */
export async function tryCells(world: World, cells: Iterable<Cell>): Promise<CellsRun> {
  const run: CellsRun = { count: 0, faults: [] };
  for (const cell of cells) {
    run.count++;
    run.faults.push(...(await tryCell(world, cell)).faults);
  }
  return run;
}

function statusFaults({ expected, orElse, principal }: Cell, { status, body, text }: Answer): string[] {
  if (status !== expected && status !== orElse) return [`answers ${status} and not ${expected}: ${text.slice(0, 200)}`];
  const code = status === 401 ? codeOfUnknown(principal) : codes[status];
  const given = (body['error'] as Json | undefined)?.['code'];
  return given === code ? [] : [`answers ${status} with the code ${given} and not ${code}`];
}

function codeOfUnknown({ authorization }: Principal): string {
  return authorization === null ? 'token_missing' : 'token_invalid';
}

/** Words in the response that the principal may not read, except those that the request itself contained. */
function wordFaults(world: World, { principal, path, body }: Cell, { text }: Answer): string[] {
  const shown = world.words.filter((word) => text.includes(word.text));
  if (shown.length === 0) return [];
  const asked = `${path} ${JSON.stringify(body ?? {})}`;
  return shown
    .filter((word) => !asked.includes(word.text) && !(principal.isKnown && word.mayRead(principal)))
    .map((word) => `shows "${word.text}"`);
}

function memberFaults(principal: Principal, body: Json): string[] {
  if (principal.account === null) return [];
  const hidden = [...membersOfTheInstallation, ...(principal.role === 'member' ? membersOfHolders : [])];
  const faults: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      const isEmpty = inner === null || (Array.isArray(inner) && inner.length === 0);
      if (hidden.includes(name) && !isEmpty) faults.push(`shows the member "${name}"`);
      visit(inner);
    }
  };
  visit(body);
  return faults;
}
