// The API key that the playground sends with. Each user has at most one on a device: it is created at the first message
// and reused later with a new secret, so that keys do not accumulate. Its secret is kept in the memory of the tab only.

import { skipToken, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call } from '../../api.ts';
import { useMe } from '../../me.tsx';
import { useGet } from '../../queries.ts';
import { isSandbox } from '../keys/values.ts';

const KEY_NAME = 'playground';
const DEFAULT_QUOTA = '1.00';
const LIFETIME_MS = 24 * 3_600_000;
/** A key that expires sooner is extended. */
const LEFT_MS_MIN = 3_600_000;
const REFRESH_MS = 10_000;
/** For another tab that still has the previous secret. */
const GRACE = '1h';

export interface PlaygroundKey {
  secret: string;
  /** Null if only the secret is known. */
  id: string | null;
  account: string | null;
  /** When to extend a key of the playground; null for a key that was entered. */
  extendAtMs: number | null;
}

export function usePlaygroundKey(): [PlaygroundKey | null, (key: PlaygroundKey | null) => void] {
  return useTabState<PlaygroundKey | null>('playground-key', null);
}

/** State of the tab: it survives a change of page, and is discarded on sign-out and reload. */
export function useTabState<Value>(name: string, initial: Value): [Value, (value: Value) => void] {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: [name],
    queryFn: skipToken,
    initialData: () => queries.getQueryData<Value>([name]) ?? initial,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return [(data as Value | undefined) ?? initial, (value) => queries.setQueryData([name], () => value)];
}

export interface KeySource {
  /** Whether a key is in use or can be created. */
  isReady: boolean;
  /** Returns the secret of the key in use, or of the key of the playground; null if that failed. */
  getSecret: () => Promise<string | null>;
  /** The account that a key of the playground belongs to; empty: the user's own, or not chosen. */
  account: string;
  setAccount: (id: string) => void;
  /** The key in use, or the one of the playground that the next message will use; undefined if there is none. */
  shown: KeyShape | undefined;
  /** Per day, for a key that does not exist yet. */
  quota: string;
  setQuota: (usd: string) => void;
  failure: Error | null;
  isPending: boolean;
}

/** `model` is the model that the first message is for. */
export function useKeySource(model: string): KeySource {
  const me = useMe();
  const queries = useQueryClient();
  const [key, setKey] = usePlaygroundKey();
  const [chosen, setAccount] = useTabState('playground-account', '');
  const [quota, setQuota] = useState(DEFAULT_QUOTA);
  const accounts = useGet('/accounts', { isEnabled: me.role === 'operator' }).data?.data ?? [];
  // Sandbox models use the demo account, so that an operator can try them without choosing one.
  const offered =
    accounts.length === 1 || !isSandbox(model) ? accounts : accounts.filter(({ name }) => name === 'demo');
  const account = chosen || (offered.length === 1 ? (offered[0]?.id ?? '') : '');
  const running = useRef<Promise<PlaygroundKey> | null>(null);
  const obtaining = useMutation({
    mutationFn: () => {
      running.current ??= inTurn(() => obtainKey(me.id, account, quota)).finally(() => {
        running.current = null;
      });
      return running.current;
    },
    onSuccess: async (obtained) => {
      setKey(obtained);
      await queries.invalidateQueries({ queryKey: ['/keys/{id}'] });
    },
  });
  const seenId = key === null ? rememberedKey(me.id) : key.id;
  const seen = useGet('/keys/{id}', { id: seenId ?? '', everyMs: REFRESH_MS, isEnabled: seenId !== null }).data;
  const isUsable = key !== null && (key.extendAtMs === null || Date.now() < key.extendAtMs);
  return {
    isReady: key !== null || (me.role !== 'viewer' && (me.account !== null || account !== '')),
    async getSecret() {
      if (isUsable) return key.secret;
      return (await obtaining.mutateAsync().catch(() => null))?.secret ?? null; // the page shows `failure`
    },
    account,
    // A key belongs to its account for good.
    setAccount: (id) => {
      setAccount(id);
      if (key?.extendAtMs != null) setKey(null);
    },
    shown: isShown(seen, key, seenId, account) ? seen : undefined,
    quota,
    setQuota,
    failure: obtaining.error,
    isPending: obtaining.isPending,
  };
}

/** Answers of the previous key stay visible while the next is fetched. */
function isShown(
  seen: KeyShape | undefined,
  key: PlaygroundKey | null,
  id: string | null,
  account: string,
): seen is KeyShape {
  if (seen === undefined || seen.id !== id) return false;
  return key !== null || (seen.status !== 'revoked' && (account === '' || seen.account === account));
}

/** One tab at a time, where the browser offers locks: over TLS and on localhost. */
function inTurn<Value>(act: () => Promise<Value>): Promise<Value> {
  return navigator.locks === undefined ? act() : navigator.locks.request('turnpike-playground', act);
}

/** `account` is empty for users of one account. */
async function obtainKey(user: string, account: string, quota: string): Promise<PlaygroundKey> {
  const known = rememberedKey(user);
  if (known !== null) {
    const key = await findKey(known);
    const isOfAccount = account === '' || key?.account === account;
    if (key !== null && isOfAccount) return await renewKey(key);
    if (key !== null) await call('POST /keys/{id}/revoke', { id: key.id, body: {} });
  }
  const created = await call('POST /keys', {
    body: {
      ...(account !== '' && { account }),
      name: KEY_NAME,
      quota: quota.trim(),
      quota_period: 'day',
      expires_at: new Date(Date.now() + LIFETIME_MS).toISOString(),
    },
  });
  rememberKey(user, created.id);
  return keyInUse(created, created.key);
}

/** Null if the key no longer exists, or is revoked. */
async function findKey(id: string): Promise<KeyShape | null> {
  try {
    const key = await call('GET /keys/{id}', { id });
    return key.status === 'revoked' ? null : key;
  } catch (failure) {
    if (failure instanceof ApiFailure && (failure.status === 404 || failure.status === 400)) return null;
    throw failure;
  }
}

/** Extends the key if it ends soon, and gives it a new secret: the previous one is known to no one. */
async function renewKey(key: KeyShape): Promise<PlaygroundKey> {
  const { id } = key;
  const leftMs = Date.parse(key.expires_at ?? '') - Date.now();
  const extended =
    leftMs > LEFT_MS_MIN
      ? key
      : await call('PATCH /keys/{id}', { id, body: { expires_at: new Date(Date.now() + LIFETIME_MS).toISOString() } });
  const rotated = await call('POST /keys/{id}/rotate', { id, body: { grace: GRACE } });
  return keyInUse(extended, rotated.key);
}

function keyInUse({ id, account, expires_at: expiresAt }: KeyShape, secret: string): PlaygroundKey {
  const endsAtMs = Date.parse(expiresAt ?? '');
  const extendAtMs = Number.isNaN(endsAtMs) ? Number.POSITIVE_INFINITY : endsAtMs - LEFT_MS_MIN / 2;
  return { secret, id, account, extendAtMs };
}

/** Only the id is stored, which is no secret. */
const placeOf = (user: string) => `turnpike-playground-key-${user}`;

function rememberedKey(user: string): string | null {
  try {
    return localStorage.getItem(placeOf(user));
  } catch {
    return null; // storage is blocked: the key is of this tab only
  }
}

function rememberKey(user: string, id: string): void {
  try {
    localStorage.setItem(placeOf(user), id);
  } catch {
    // as above
  }
}
