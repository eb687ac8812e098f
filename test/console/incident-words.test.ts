// Incidents in words: each kind has a title, links for what can be done, and a notice that tells customers no provider.

import { expect, test } from 'bun:test';
import { defaultModel } from '../../console/features/keys/values.ts';
import {
  customerNotice,
  incidentLink,
  incidentReach,
  incidentTitle,
} from '../../console/features/overview/incident-words.ts';
import { incidentActions } from '../../src/admin-api/incidents.ts';
import type { IncidentShape } from '../../src/admin-api/shapes.ts';
import { incidentKinds } from '../../src/incidents/incidents.ts';

const incident = (more: Partial<IncidentShape>): IncidentShape => ({
  ...{ id: 'inc_1', kind: 'model_failing', severity: 'critical', since: '2026-11-20T14:04:00.000Z' },
  ...{ last_seen_at: '2026-11-20T14:05:00.000Z', ended_at: null, account: null, account_name: null, key: null },
  ...{ key_name: null, model: null, models: [], provider: null, upstream_model: null, subject: null },
  ...{ subject_id: null, cause: null, message: null, message_at: null, requests: null, all_requests: null },
  ...{ share: null, accounts: null, most_affected: [], loss: null, actions: [] },
  ...more,
});

const ofAccount = { account: 'acct_1', account_name: 'acme', key: 'key_1', key_name: 'app' };
const named = {
  ...ofAccount,
  model: 'fable',
  models: ['fable'],
  provider: 'one',
  subject: 'daily',
  subject_id: 'exp_1',
};

test('every kind has a title with the names of what fails', () => {
  for (const kind of incidentKinds) {
    const titles = [true, false].map((isHolder) => incidentTitle(incident({ ...named, kind }), isHolder));
    for (const title of titles) expect(title).toMatch(/^[A-Z“a-z].{5,}[^.]$/);
    expect(titles.join()).not.toMatch(/undefined|null/);
  }
  const destination = (subject: string, cause: string) =>
    incidentTitle(incident({ kind: 'destination_failing', subject, cause }), false);
  expect(destination('ops', 'failing')).toBe('Deliveries to ops are failing');
  expect(destination('', 'failing')).toBe('Deliveries to a destination are failing');
  expect(destination('', 'disabled')).toBe('A destination was disabled');
  const provider = (cause: string) =>
    incidentTitle(incident({ kind: 'provider_failing', provider: 'one', cause }), false);
  expect(provider('out_of_credit')).toBe('one is out of credit');
  expect(provider('timeout')).toBe('one is failing');
});

test('who is affected is said in requests, their share, and accounts', () => {
  expect(incidentReach(incident({ requests: 51, all_requests: 100, share: 0.51, accounts: 3 }))).toEqual([
    '51 of 100 requests (51%)',
    '3 accounts',
  ]);
  expect(incidentReach(incident({ share: 0.51 }))).toEqual(['51% of requests']);
  const refused = { ...ofAccount, requests: 54, all_requests: 57, share: 54 / 57, accounts: 1 };
  expect(incidentReach(incident({ kind: 'account_refused', cause: 'insufficient_user_quota', ...refused }))).toEqual([
    '54 of 57 requests (95%)',
    'Balance or limit exhausted',
  ]);
  expect(incidentReach(incident({ kind: 'negative_margin', loss: '2.50' }))).toEqual(['$2.50 lost in two days']);
});

test('every action but the notice leads to a page, of their own account for holders', () => {
  for (const action of incidentActions) {
    const link = incidentLink(action, incident(named), false);
    if (action === 'tell_customers') expect(link).toBeNull();
    else expect(`${link?.to} ${JSON.stringify(link?.search)}`).not.toMatch(/null|undefined\//);
  }
  expect(incidentLink('add_credit', incident(named), true)?.to).toBe('/billing');
  expect(incidentLink('view_rejected', incident(named), true)?.search).toEqual({ key: 'key_1' });
});

test('the notice for customers names models and since when, and no provider', () => {
  const notice = customerNotice(incident({ ...named, share: 0.51, message: 'one: no credit' }));
  expect(notice).toBe('Since Nov 20, 2:04 PM UTC, about 51% of the requests to fable fail. We are working on it.');
  expect(customerNotice(incident({ kind: 'account_refused', message: 'The balance is too low: 0.000519 USD.' }))).toBe(
    'Since Nov 20, 2:04 PM UTC, requests are refused: The balance is too low: $0.000519.',
  );
});

test('snippets and the playground do not begin with a model that fails, unless all fail', () => {
  const names = ['fable', 'opus', 'sandbox-echo'];
  expect(defaultModel(names)).toBe('fable');
  expect(defaultModel(names, new Set(['fable']))).toBe('opus');
  expect(defaultModel(names, new Set(['fable', 'opus']))).toBe('sandbox-echo');
  expect(defaultModel(names, new Set(names))).toBe('fable');
});
