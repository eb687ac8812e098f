// Tools and the choice among them, as function declarations.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { cleanSchema, makeNodeBudget, type NodeBudget } from './clean-schema.ts';
import { findClientTool } from './client-tools.ts';
import { shortenName } from './tool-names.ts';

/** `tools` and `toolConfig`; neither without tools. Throws ProviderFault (rejected) for a tool that cannot be had. */
export function convertTools({ tools, tool_choice: choice }: JsonObject): JsonObject {
  if (!Array.isArray(tools) || tools.length === 0) return {};
  const nodes = makeNodeBudget();
  const functionDeclarations = tools.map((tool, index) => convertTool(tool, `tools.${index}`, nodes));
  const functionCallingConfig = convertChoice(choice);
  return {
    tools: [{ functionDeclarations }],
    ...(functionCallingConfig !== null && { toolConfig: { functionCallingConfig } }),
  };
}

/** Names of the tools of a request, as its caller knows them. */
export function toolNames({ tools }: JsonObject): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => (isJsonObject(tool) && typeof tool['name'] === 'string' ? [tool['name']] : []));
}

function convertTool(tool: JsonValue, path: string, nodes: NodeBudget): JsonObject {
  if (!isJsonObject(tool)) refuseField(path, 'Input should be a valid dictionary');
  const { type, name } = tool;
  const definition = typeof type !== 'string' || type === 'custom' ? tool : findClientTool(type);
  if (definition === null)
    refuseField(`${path}.type`, `a tool of the type "${shown(type)}" is not available for the provider of this model`);
  if (typeof name !== 'string' || name === '') refuseField(`${path}.name`, 'Field required');
  const { description, input_schema: schema } = definition;
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
