// All kinds of providers, and all families of Chat Completions. A new kind is added here, and is covered by all tests of this folder.

import { anthropicDriver } from './anthropic-wire.ts';
import { bedrockClaudeDriver, converseDriver } from './bedrock-wire.ts';
import { chatDrivers } from './chat-wire.ts';
import { cloudDrivers } from './cloud-wires.ts';
import type { Driver } from './driver.ts';
import { geminiDriver } from './gemini-wire.ts';
import { responsesDriver } from './responses-wire.ts';

export const drivers: readonly Driver[] = [
  anthropicDriver,
  ...chatDrivers,
  responsesDriver,
  geminiDriver,
  bedrockClaudeDriver,
  converseDriver,
  ...cloudDrivers,
];

/** One of each wire format, for properties shared by the families. */
export const kinds: readonly Driver[] = [
  anthropicDriver,
  chatDrivers[0] as Driver,
  responsesDriver,
  geminiDriver,
  converseDriver,
];
