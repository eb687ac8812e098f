// Five thousand messages at once of sixty people in a company of three levels, over three nodes: nothing is spent beyond any
// level or budget, and nobody is refused while everything that limits them has room.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatUsd, parseUsd } from '../../../src/base/money.ts';
import { costOf } from '../../money/load.ts';
import { makeRandom } from '../../support/random.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { AT_ONCE, settings } from './spend-together.ts';
import { countVerdicts, sendSpread } from './spread.ts';
import { applyEverywhere, type Nodes, startNodes } from './start-nodes.ts';

const OUTPUT_TOKENS = 8;
const COST_NANO = costOf(1, OUTPUT_TOKENS);
const worth = (messages: number) => formatUsd(messages * COST_NANO);
const TEAMS = 20;
const BODY = { model: 'sandbox-lorem', max_tokens: OUTPUT_TOKENS, messages: [{ role: 'user', content: 'go' }] };

interface Member {
  person: string;
  secret: string;
  /** Its team's account, then those above. */
  chain: readonly string[];
  /** In messages; null: no budget. */
  budget: number | null;
}

describe.skipIf(cannotStartPostgres)('of 5,000 concurrent messages of a company', () => {
  let nodes: Nodes;
  beforeAll(async () => {
    nodes = await startNodes(3);
    await applyEverywhere(nodes, { settings });
  });
  afterAll(() => nodes[Symbol.asyncDispose]());

  test('each level and each budget pays for what it can, and no level for more', async () => {
    const random = makeRandom(33);
    const [{ service }] = nodes.all as [Nodes['all'][number]];
    const account = async (terms: object) => String((await service.admin('POST', '/accounts', terms))['id']);
    const limited = (messages: number) => ({ allowance: worth(messages), allowance_period: 'month' });
    const company = await account({ name: 'company', credit: worth(2_500) });
    const below = { pays_from: 'parent' };
    const members: Member[] = [];
    for (let at = 0; at < 4; at++) {
      const department = await account({ name: `department ${at}`, parent: company, ...below, ...limited(900) });
      for (let nth = 0; nth < TEAMS / 4; nth++) {
        const limits = nth % 2 === 0 ? limited(150) : {};
        const team = await account({ name: 'team', parent: department, ...below, ...limits });
        members.push(...(await addMembers(nodes, [team, department, company], `${at}-${nth}`)));
      }
    }
    const asked = Array.from({ length: AT_ONCE }, (_, at) => {
      const member = members[Math.floor(random() * members.length)] as Member;
      return { member, secret: member.secret, body: { ...BODY, stream: at % 2 === 0 } };
    });
    const { answers } = await sendSpread(nodes, asked);
    const verdicts = countVerdicts(answers);
    expect(Object.keys(verdicts).sort()).toEqual(['200', '400 insufficient_user_quota']);
    expect(await nodes.check()).toMatchObject({ ok: true, open_holds: 0 });
    const wallet = await service.admin('GET', `/accounts/${company}`);
    expect(parseUsd(String(wallet['balance']))).toBe((2_500 - (verdicts['200'] ?? 0)) * COST_NANO);
    const refused = new Set(asked.filter((_, at) => answers[at]?.status !== 200).map(({ member }) => member));
    for (const member of members) {
      const key = await roomOf(nodes, member);
      expect([member.person, key.every((left) => left >= 0)]).toEqual([member.person, true]);
      // The hold of a message is a little more than its cost.
      if (refused.has(member)) expect([member.person, Math.min(...key) < 2]).toEqual([member.person, true]);
    }
  });
});

/** Three people of a team, each with a key, two of them with a budget. */
async function addMembers({ all: [first] }: Nodes, chain: readonly string[], name: string): Promise<Member[]> {
  const { service } = first as Nodes['all'][number];
  const [team] = chain;
  const members: Member[] = [];
  for (const [at, budget] of [null, 20, 60].entries()) {
    const email = `person-${name}-${at}@example.com`;
    const { id: person } = await service.admin('POST', '/people', { email, role: 'member', account: team });
    const limits = budget === null ? null : [{ window: 'month', limit: worth(budget) }];
    if (limits !== null)
      await service.admin('PATCH', `/people/${person}/budget`, { account: team, limits, stops: true });
    const key = await service.admin('POST', '/keys', { account: team, person });
    members.push({ person: String(person), secret: String(key['key']), chain, budget });
  }
  return members;
}

/** The number of messages that each meter of the member's chain still has room for. */
async function roomOf({ all: [first] }: Nodes, { person, secret, chain, budget }: Member): Promise<number[]> {
  const { service } = first as Nodes['all'][number];
  const headers = { 'x-api-key': secret };
  const key = (await (await fetch(`${service.url}/v1/key`, { headers })).json()) as { budgets: { used: string }[] };
  const used = parseUsd(key.budgets[0]?.used ?? '0') as number;
  expect([person, key.budgets.length]).toEqual([person, budget === null ? 0 : 1]);
  const rooms = budget === null ? [] : [budget - used / COST_NANO];
  for (const id of chain) {
    const shown = await service.admin('GET', `/accounts/${id}`);
    const left = (limit: unknown, spent: unknown) =>
      ((parseUsd(String(limit)) ?? 0) - (parseUsd(String(spent)) ?? 0)) / COST_NANO;
    if (shown['allowance'] !== null) rooms.push(left(shown['allowance'], shown['allowance_used']));
    if (shown['parent'] === null) rooms.push(left(shown['balance'], '0'));
  }
  return rooms;
}
