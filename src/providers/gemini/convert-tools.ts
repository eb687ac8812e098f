// Tools and the choice among them, as function declarations.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { findClientTool } from '../client-tools.ts';
import { gatherTools } from '../gather-tools.ts';
import { refuseField } from '../refuse-field.ts';
import { cleanSchema, makeNodeBudget, type NodeBudget } from './clean-schema.ts';
import { shortenName } from './tool-names.ts';

/** `tools` and `toolConfig`; neither without tools. Throws ProviderFault (rejected) for a tool that cannot be had. */
export function convertTools(body: JsonObject): JsonObject {
  const tools = gatherTools(body);
  if (tools.length === 0) return {};
  const nodes = makeNodeBudget();
  const functionDeclarations = tools.map(({ tool, path }) => convertTool(tool, path, nodes));
  const functionCallingConfig = convertChoice(body['tool_choice']);
  return {
    tools: [{ functionDeclarations }],
    ...(functionCallingConfig !== null && { toolConfig: { functionCallingConfig } }),
  };
}

/** Names of the tools of a request, as its caller knows them. */
export function toolNames(body: JsonObject): string[] {
  return gatherTools(body).flatMap(({ tool: { name } }) => (typeof name === 'string' ? [name] : []));
}

function convertTool(tool: JsonObject, path: string, nodes: NodeBudget): JsonObject {
  const { type, name } = tool;
  const known = findClientTool(type);
  if (known === null && typeof type === 'string' && type !== 'custom')
    refuseField(`${path}.type`, `a tool of the type "${shown(type)}" is not available for the provider of this model`);
  if (typeof name !== 'string' || name === '') refuseField(`${path}.name`, 'Field required');
  const description = known?.description ?? tool['description'];
  const schema = known?.parameters ?? tool['input_schema'];
  const parameters = isJsonObject(schema) ? cleanSchema(schema, nodes) : null;
  return {
    name: shortenName(name),
    ...(typeof description === 'string' && description !== '' && { description }),
    ...(parameters !== null && { parameters }),
  };
}

function convertChoice(choice: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(choice)) return null;
  switch (choice['type']) {
    case 'auto':
      return { mode: 'AUTO' };
    case 'any':
      return { mode: 'ANY' };
    case 'none':
      return { mode: 'NONE' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [shortenName(String(choice['name']))] };
    default:
      refuseField('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'");
  }
}

const SHOWN_CHARACTERS_MAX = 64;

function shown(value: JsonValue | undefined): string {
  return String(value).slice(0, SHOWN_CHARACTERS_MAX);
}
