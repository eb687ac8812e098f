// Faults of the admin API beside the fields of a form.

import { expect, test } from 'bun:test';
import { ApiFailure } from '../../console/api.ts';
import { faultSentence, fieldFaults, objectFaults } from '../../console/form-faults.ts';

const failed = (...faults: { path: (string | number)[]; message: string }[]) =>
  new ApiFailure(400, 'invalid_request', 'the message of all faults', faults, null);

test('a fault beside a field is a sentence that names the field', () => {
  for (const [path, message, sentence] of [
    [['account'], 'is required', 'Choose an account.'],
    [['account'], 'is required for the role member', 'Choose an account.'],
    [['email'], 'is required', 'Email is required.'],
    [['types'], 'must not be empty', 'Choose at least one type of event.'],
    [['name'], 'must not be empty', 'Name is required.'],
    [
      ['rpm'],
      'must be at least 1; null means no limit',
      'Requests per minute must be at least 1; null means no limit.',
    ],
    [['quota_period'], 'must be total, day, week or month', 'Quota period must be total, day, week or month.'],
    [['origins', 1], 'must be an origin', 'Allowed origins: entry 2 must be an origin.'],
    [['groups', 0], 'must not be empty', 'Groups: entry 1 is required.'],
    [['account'], 'there is no account "acct_1"', 'There is no account "acct_1".'],
    [['models', 'gpt', 'price', 'input'], 'is missing', 'Input is required.'],
    [['providers', 'x', 'project'], 'unknown member', 'Project is not supported here.'],
    [['email'], 'There is one already.', 'There is one already.'],
    [
      ['providers', 'x', 'base_url'],
      'resolves to 10.0.0.5 in a private network: set "private_network: true" to allow it',
      'Address resolves to 10.0.0.5 in a private network. Select “Private network” to allow it.',
    ],
  ] as const)
    expect(faultSentence(path, message)).toBe(sentence);
});

test('every way to a field gives the sentence: a fault, a conflict in words, a fault of the catalog', () => {
  expect(fieldFaults(failed({ path: ['account'], message: 'is required' }), ['account'])).toEqual({
    account: 'Choose an account.',
  });
  const conflict = new ApiFailure(409, 'conflict', 'email: there is a person with this address', [], null);
  expect(fieldFaults(conflict, ['email'])).toEqual({ email: 'There is a person with this address.' });
  const catalog = failed({ path: ['groups', 'vip', 'multiplier'], message: 'must be a decimal' });
  expect(objectFaults(catalog, ['groups', 'vip'], (field) => field === 'multiplier')).toEqual({
    multiplier: 'Price multiplier must be a decimal.',
  });
});
