// The events that report changes of keys, tokens and people, and new accounts. They are written with the change.

import type { AccessToken, Key, Person, SignUp } from '../accounts/accounts.ts';
import type { AuditContext, AuditRecord } from '../audit/audit.ts';
import { parseTimeMs } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';
import type { CoCommittedRow } from './co-committed.ts';

export function eventRows(events: readonly NewEvent[]): CoCommittedRow[] {
  return events.map((event) => ({ table: 'events', event }));
}

/** The event of a change of a key; none if the change is of no interest. */
export function eventsOfKey(key: Key, { audit }: AuditContext): NewEvent[] {
  const [record] = audit;
  if (record === undefined) return [];
  const { actor, action, atMs, after } = record;
  const data = { key: formatId('key', key.id), name: key.name, prefix: key.prefix, actor: actor.id };
  const about = { atMs, account: key.accountId, dedupe: null };
  if (action === 'key.create') return [{ ...about, type: 'key.created', data }];
  if (action === 'key.rotate') return [{ ...about, type: 'key.rotated', data }];
  const status = after?.['status'];
  if (status !== 'disabled' && status !== 'revoked') return [];
  return [{ ...about, type: 'key.disabled', data: { ...data, status } }];
}

export function eventsOfToken(token: AccessToken, { audit }: AuditContext): NewEvent[] {
  const [record] = audit;
  if (record === undefined) return [];
  const { id, name, role, accountId } = token;
  const data = { token: formatId('tok', id), name, role, actor: record.actor.id };
  return [{ atMs: record.atMs, account: accountId, type: 'token.created', data, dedupe: null }];
}

/** The event of a person who accepted an invitation, or whom a directory placed in an account; none for other changes. */
export function eventsOfPerson(person: Person, { audit }: AuditContext): NewEvent[] {
  const isJoin = ({ action, before }: AuditRecord) =>
    action === 'person.join' || (action === 'person.accept' && before?.['status'] === 'invited');
  const record = audit.find(isJoin);
  if (record === undefined) return [];
  const { id, email, role, accountId } = person;
  const data = { person: formatId('person', id), email: email ?? '', role };
  return [{ atMs: record.atMs, account: accountId, type: 'person.joined', data, dedupe: null }];
}

/** The events of prices that a change of the catalog schedules or cancels. */
export function eventsOfPrices({ audit }: AuditContext): NewEvent[] {
  return audit.flatMap(({ object, atMs, actor, before, after }) => {
    const [kind, ...name] = object.split(' ');
    if (kind !== 'model') return [];
    const [old, now] = [laterThan(atMs, before), laterThan(atMs, after)];
    const about = { atMs, account: null, dedupe: null };
    const of = (from: string) => ({ model: name.join(' '), from, actor: actor.id });
    const isAmong = (versions: ReturnType<typeof laterThan>, { text }: { text: string }) =>
      versions.some((one) => one.text === text);
    return [
      ...old
        .filter((one) => !isAmong(now, one))
        .map(({ from }): NewEvent => ({ ...about, type: 'price.canceled', data: of(from) })),
      ...now
        .filter((one) => !isAmong(old, one))
        .map(({ from }): NewEvent => ({ ...about, type: 'price.scheduled', data: of(from) })),
    ];
  });
}

/** The versions of a model's price that take effect after a time. A change of other members has none. */
function laterThan(atMs: number, members: AuditRecord['before']): { from: string; text: string }[] {
  const changes = members?.['price_changes'];
  if (!Array.isArray(changes)) return [];
  return changes.flatMap((change) => {
    const { from } = change as { from?: unknown };
    const isLater = typeof from === 'string' && (parseTimeMs(from) ?? 0) > atMs;
    return isLater ? [{ from, text: JSON.stringify(change) }] : [];
  });
}

export function eventOfSignUp({ account, owner, credit }: SignUp): NewEvent {
  const data = { name: account.name, email: owner.email ?? '', credit: formatUsd(credit) };
  return { atMs: account.createdAtMs, account: null, type: 'account.signed_up', data, dedupe: null };
}
