// The key of a person with a budget, two accounts below the one that pays.

import type { Turnpike } from './start-turnpike.ts';

/** Returns the secret. Each account has an allowance, and the department a budget for its people; all are far beyond what trials spend. */
export async function makeKeyBelow(turnpike: Turnpike, company: string): Promise<string> {
  const allowance = { pays_from: 'parent', allowance: '950.00', allowance_period: 'month' };
  const budget = { limits: [{ window: '5h', limit: '900.00' }], stops: true };
  const department = { name: 'department', parent: company, ...allowance, person_budget: budget };
  const { id: parent } = await turnpike.admin('POST', '/accounts', department);
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'team', parent, ...allowance });
  const email = `${company}@example.com`;
  const { id: person } = await turnpike.admin('POST', '/people', { email, role: 'member', account });
  const key = await turnpike.admin('POST', '/keys', { account, person });
  return String(key['key']);
}
