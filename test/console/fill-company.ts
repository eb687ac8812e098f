// Makes an account the top of a company: accounts below, budgets, tags, directory groups, and coding agents with a session.
// Contains no tests.

import { newDevice, signInAgent } from '../contract/agents/agent-device.ts';
import { Browser, type Somebody } from '../contract/sign-in/browser.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

export interface FilledCompany {
  /** The account on the third level. */
  teamId: string;
  /** The key of the member, who has a budget. */
  memberKeyId: string;
  /** The code of a coding agent that waits for approval. */
  userCode: string;
  /** The session of a coding agent, whose requests have tags, two agents and two models. */
  session: string;
}

/** `text` is in the names that operators enter. */
export async function fillCompany(
  turnpike: Turnpike,
  account: string,
  people: Readonly<Record<'owner' | 'member', Somebody>>,
  text: string,
): Promise<FilledCompany> {
  const below = async (name: string, parent: string, more: object = {}) => {
    const place = { name, parent, pays_from: 'parent', groups: ['default', 'sandbox'] };
    return String((await turnpike.admin('POST', '/accounts', { ...place, ...more }))['id']);
  };
  const department = await below(`Research ${text}`, account, { allowance: '500.00', allowance_period: 'month' });
  const teamId = await below('Search and recommendations', department, { tags: { cost_centre: '4711' } });
  const own = await turnpike.admin('POST', '/accounts', { name: 'Subsidiary', parent: account, credit: '70000.25' });
  await turnpike.admin('PATCH', `/accounts/${own['id']}`, {
    person_budget: { limits: [{ window: '5h', limit: '1' }] },
  });
  const limits = [
    { window: '5h', limit: '0.25' },
    { window: 'day', limit: '5.00' },
    { window: 'month', limit: '1250.00' },
  ];
  await turnpike.admin('PATCH', `/accounts/${account}`, {
    person_budget: { limits },
    warns_at: [50, 80, 100],
    ...{ tags: { cost_centre: '4700', company: text.slice(0, 40) }, tags_pinned: ['cost_centre'] },
  });
  const month = { limits: [{ window: 'month', limit: '0.0001' }], stops: false };
  await turnpike.admin('PATCH', `/people/${people.member.id}/budget`, month);
  await turnpike.admin('PATCH', `/people/${people.member.id}`, { tags: { team: 'search' } });
  await fillDirectory(turnpike, teamId, text);
  await turnpike.admin('POST', '/apply', { document: { settings: { agent_sign_in: 'on' } } });
  for (const { email } of [people.owner, people.member]) {
    const browser = new Browser(turnpike.url);
    await browser.signIn(email);
    await signInAgent(newDevice(turnpike), { browser });
  }
  const userCode = String((await newDevice(turnpike).begin()).body['user_code']);
  return { teamId, userCode, ...(await sendSession(turnpike, account, teamId, people.member.id)) };
}

async function fillDirectory(turnpike: Turnpike, account: string, text: string): Promise<void> {
  const group = (name: string, more: object) =>
    turnpike.admin('POST', '/directory-groups', { name, source: 'scim', role: 'member', account, ...more });
  await group(`eng-search ${text}`, { priority: 10 });
  await group('cn=finance-and-controlling,ou=groups,dc=corp,dc=example', { role: 'owner', source: null });
  await turnpike.admin('POST', '/directory-groups', { name: 'it-operations', source: 'scim', role: 'operator' });
}

async function sendSession(turnpike: Turnpike, account: string, team: string, person: string) {
  const session = '9ab2c5f0-8f3c-4c53-a8fb-cc0a2b1f5a11';
  const key = await turnpike.admin('POST', '/keys', { account, person, name: 'laptop', tags: { env: 'dev' } });
  const ofTeam = await turnpike.admin('POST', '/keys', { account: team, name: 'crawler' });
  const send = async (secret: unknown, model: string, agent: string) => {
    const answer = await fetch(`${turnpike.url}/v1/messages`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...{ 'x-claude-code-session-id': session, 'x-claude-code-agent-id': agent },
        'x-turnpike-tags': 'project=atlas',
      },
      body: JSON.stringify({ model, max_tokens: 90, messages: [{ role: 'user', content: 'Hello '.repeat(30) }] }),
    });
    if (!answer.ok) throw new Error(`${model} was refused: ${await answer.text()}`);
    await answer.text();
  };
  await send(key['key'], 'sandbox-lorem', 'agent-1');
  await send(key['key'], 'sandbox-echo', 'agent-2');
  await send(ofTeam['key'], 'sandbox-echo', 'agent-1');
  return { session, memberKeyId: String(key['id']) };
}
