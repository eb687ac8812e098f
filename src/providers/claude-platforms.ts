// Claude at clouds: what each platform takes of the Messages protocol, and requests in its form. A platform answers 400 to
// betas and members that it does not know, so only known ones are sent. Hints are left out; what would change the answer
// is refused by name.

import { type ClaudePlatform, type PlatformFacts, platformFacts } from '../model-facts/model-facts.ts';
import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { exactBody, isJsonObject, jsonObjects, objectOf, rewriteRequest, textOf } from '../wire/wire.ts';
import { type Changes, countChanges, messageChanges } from './anthropic/anthropic.ts';
import { BlockCleaner } from './claude-blocks.ts';
import { gatherTools } from './client-tools.ts';
import { REFUSED, refuseField, refuseType, requests } from './lost-fields.ts';
import type { Attempt } from './provider.ts';

export type { ClaudePlatform } from '../model-facts/model-facts.ts';

const TOOL_MEMBERS = ['type', 'name', 'description', 'input_schema', 'cache_control', 'strict'];

/** The beta that an edit of the context needs. */
function betaOfEdit(type: string): string {
  return type.startsWith('compact_') ? 'compact-2026-01-12' : 'context-management-2025-06-27';
}

/** The body of a message for the platform, without the members that its address has. Throws ProviderFault (rejected). */
export function convertPlatformBody(attempt: Attempt, platform: ClaudePlatform): string {
  return rewriteRequest(attempt.request, convertMembers(attempt, platform, messageChanges(attempt)));
}

/** The body of a token count, with its model. Throws ProviderFault (rejected). */
export function convertPlatformCount(attempt: Attempt, platform: ClaudePlatform): string {
  const changes = countChanges(attempt);
  const { model } = changes;
  return rewriteRequest(attempt.request, { ...convertMembers(attempt, platform, changes), model });
}

/** The betas for the header of a platform, joined by commas; null without any, and where the body has them. */
export function platformBetas(attempt: Attempt, platform: ClaudePlatform): string | null {
  const facts = platformFacts(platform);
  const betas = facts.betasInBody ? [] : betasOf(attempt, facts);
  return betas.length === 0 ? null : betas.join(',');
}

function betasOf({ betas, upstreamModel, request }: Attempt, platform: PlatformFacts): string[] {
  const asked = (betas ?? '').split(',').flatMap((text) => {
    const name = text.trim();
    const beta = Object.hasOwn(platform.betas, name) ? platform.betas[name] : undefined;
    return beta === undefined || beta.models?.test(upstreamModel) === false ? [] : [beta.as ?? name];
  });
  const types = gatherTools(request.body).map(({ tool }) => textOf(tool['type']));
  const needed = platform.toolBetas.filter(([tool]) => types.some((type) => tool.test(type)));
  return [...new Set([...asked, ...needed.map(([, beta]) => beta)])];
}

/** All changes of the client's body: those for every provider, and those of the platform. */
function convertMembers(attempt: Attempt, name: ClaudePlatform, changes: Changes): Changes {
  const platform = platformFacts(name);
  const { request, upstreamModel } = attempt;
  const betas = betasOf(attempt, platform);
  const sent: Changes = { ...changes };
  for (const member of request.members.keys()) if (!platform.fields.includes(member)) sent[member] = undefined;
  if (!platform.fields.includes('model')) sent['model'] = undefined;
  refuseMembers(request.body, platform);
  const current = (member: string) => (Object.hasOwn(sent, member) ? sent[member] : request.body[member]);
  let body: JsonObject | null = null;
  const given = (member: string) => {
    body ??= exactBody(request);
    return body[member];
  };
  const exact = (member: string) => (Object.hasOwn(sent, member) ? sent[member] : given(member));
  const isLong = platform.longCache.models.test(upstreamModel);
  for (const member of ['system', 'messages', 'cache_control']) {
    const clean = (value: JsonValue | undefined) => new BlockCleaner(platform, isLong).clean(value, member);
    // Refusals have the client's paths, also where messages were left out.
    const asked = clean(request.body[member]);
    const { isChanged } = current(member) === request.body[member] ? asked : clean(current(member));
    // Values are written again only if something in them changes.
    if (isChanged) sent[member] = clean(exact(member)).value;
  }
  if (!platform.toolChanges && gatherTools(request.body).length > jsonObjects(request.body['tools']).length)
    sent['tools'] = gatherTools({ tools: given('tools') ?? [], messages: given('messages') ?? [] }).map(
      ({ tool }) => tool,
    );
  if (cleanTools(current('tools'), platform, isLong) !== null)
    sent['tools'] = cleanTools(exact('tools'), platform, isLong) ?? [];
  changeThinking(sent, current('thinking'), betas);
  changeOutput(sent, request.body, given);
  changeContext(sent, current('context_management'), platform, betas);
  if (platform.bodyVersion !== null) sent['anthropic_version'] = platform.bodyVersion;
  if (platform.betasInBody && betas.length > 0) sent['anthropic_beta'] = betas;
  return sent;
}

function refuseMembers(body: JsonObject, { fields, serverTools }: PlatformFacts): void {
  for (const [member, sentence] of Object.entries(REFUSED))
    if (!fields.includes(member) && requests(body[member])) refuseField(member, sentence);
  for (const { tool, path } of gatherTools(body)) {
    const type = textOf(tool['type']);
    const family = SERVER_TOOL.exec(type)?.[1];
    if (family === undefined || serverTools.includes(family)) continue;
    refuseType('tool', type, `${path}.type`);
  }
}

const SERVER_TOOL = /^(web_search|web_fetch|code_execution|tool_search|mcp|advisor)_/;
const WEB_SEARCH_MEMBERS = [
  'type',
  'name',
  'cache_control',
  'max_uses',
  'allowed_domains',
  'blocked_domains',
  'user_location',
];

/** null if nothing changes. */
function cleanTools(tools: JsonValue | undefined, platform: PlatformFacts, isLong: boolean): JsonObject[] | null {
  let isChanged = false;
  const cleaned = jsonObjects(tools).map((tool) => {
    const blocks = new BlockCleaner(platform, isLong);
    const kept = keepMembers(blocks.cleanCache(tool), platform);
    const isLess = Object.keys(kept).length < Object.keys(tool).length;
    isChanged ||= blocks.isChanged || isLess || kept['type'] !== tool['type'];
    return kept;
  });
  return isChanged ? cleaned : null;
}

function keepMembers(tool: JsonObject, { toolMembers, webSearch }: PlatformFacts): JsonObject {
  const type = textOf(tool['type']);
  if (webSearch !== null && type.startsWith('web_search_'))
    return { ...pick(tool, WEB_SEARCH_MEMBERS), type: webSearch };
  if (type === '' || type === 'custom') return pick(tool, [...TOOL_MEMBERS, ...toolMembers]);
  const dropped = HINTS.filter((member) => !toolMembers.includes(member));
  return dropped.some((member) => member in tool) ? omit(tool, dropped) : tool;
}

/** Members of tools that only save tokens or time. */
const HINTS = ['allowed_callers', 'defer_loading', 'eager_input_streaming', 'input_examples'];

function pick(tool: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(tool).filter(([member]) => members.includes(member)));
}

function omit(tool: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(tool).filter(([member]) => !members.includes(member)));
}

/** Without the beta, a platform refuses how blocks are bound. */
function changeThinking(sent: Changes, thinking: JsonValue | undefined, betas: readonly string[]): void {
  if (!isJsonObject(thinking) || thinking['block_binding'] === undefined) return;
  if (betas.some((beta) => beta.startsWith('thinking-binding-'))) return;
  sent['thinking'] = omit(thinking, ['block_binding']);
}

/** The former name of the format became a member; `given` has the client's members with every digit. */
function changeOutput(
  sent: Changes,
  { output_config: config, output_format: format }: JsonObject,
  given: (member: string) => JsonValue | undefined,
): void {
  const current = Object.hasOwn(sent, 'output_config') ? sent['output_config'] : config;
  const isFormer = isJsonObject(format) && objectOf(current)['format'] === undefined;
  if (!isFormer && objectOf(current)['task_budget'] === undefined) return;
  const exact = current === config ? given('output_config') : current;
  const kept = omit(objectOf(exact), ['task_budget']);
  const changed = isFormer ? { ...kept, format: given('output_format') ?? format } : kept;
  sent['output_config'] = Object.keys(changed).length > 0 ? changed : undefined;
}

/** Only edits that the platform takes, and whose beta is sent. */
function changeContext(
  sent: Changes,
  context: JsonValue | undefined,
  { edits }: PlatformFacts,
  betas: readonly string[],
): void {
  if (context === undefined) return;
  const asked = jsonObjects(objectOf(context)['edits']);
  const kept = asked.filter(
    ({ type }) => edits.types.includes(textOf(type)) && betas.includes(betaOfEdit(textOf(type))),
  );
  if (kept.length === 0) sent['context_management'] = undefined;
  else if (kept.length < asked.length) sent['context_management'] = { ...objectOf(context), edits: kept };
}

/** Whether the model's cache at the platform keeps a prefix for an hour if the client wants it. */
export function keepsLongCache(platform: ClaudePlatform, upstreamModel: string): boolean {
  return platformFacts(platform).longCache.models.test(upstreamModel);
}
