// The cost of a message of a company: three levels of accounts, a person with budgets, and five tags, against one of a single
// account without them, in the same rounds.

import { type Figure, inTurns, ratios } from './figures.ts';
import { gates } from './gates.ts';
import { allMeters, bodyOf, cpuOf, type Service, startService, startUpstream } from './processes.ts';

const BODY_BYTES = 920;
const TAGS = { 'x-turnpike-tags': 'team=search, env=prod, project=atlas, feature=chat, cost_centre=4711' };

export async function measureCompanies(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  await using service = await startService(upstream);
  const load = { body: bodyOf(BODY_BYTES), connections: 32, requests: 5_000 };
  const alone = { ...load, secret: await service.makeKey({}, allMeters) };
  const company = { ...load, secret: await makeCompanyKey(service) };
  const [single = [], tagged = [], levels = [], all = []] = await inTurns(rounds, [
    () => cpuOf(service, alone),
    () => cpuOf(service, { ...alone, headers: TAGS }),
    () => cpuOf(service, company),
    () => cpuOf(service, { ...company, headers: TAGS }),
  ]);
  return [
    { what: 'CPU of a message of a single account', unit: 'µs', values: single },
    { what: '— with five tags, against without', unit: 'x', values: ratios(tagged, single) },
    { what: '— with three levels and a person with budgets', unit: 'x', values: ratios(levels, single) },
    { what: '— with both', unit: 'x', values: ratios(all, single), gate: gates.company },
  ];
}

/** The key of a person in a team, whose company pays. Every level has limits that are not reached. */
async function makeCompanyKey({ create }: Service): Promise<string> {
  const limits = [
    { window: 'day', limit: '1000000.00' },
    { window: 'month', limit: '1000000.00' },
  ];
  const below = { pays_from: 'parent', allowance: '1000000.00', allowance_period: 'month' };
  const top = await create('/accounts', { name: 'company', credit: '1000000.00', person_budget: { limits } });
  const department = await create('/accounts', { name: 'department', parent: top['id'], ...below });
  const team = await create('/accounts', { name: 'team', parent: department['id'], ...below });
  const person = await create('/people', { role: 'member', email: 'ada@example.com', account: team['id'] });
  const key = await create('/keys', { account: team['id'], person: person['id'], ...allMeters });
  return key['key'] as string;
}
