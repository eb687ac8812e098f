// All kinds of providers, and of Chat Completions all families. A kind that is added stands here. Not a test.

import { anthropicDriver } from './anthropic-wire.ts';
import { chatDrivers } from './chat-wire.ts';
import type { Driver } from './driver.ts';
import { geminiDriver } from './gemini-wire.ts';
import { responsesDriver } from './responses-wire.ts';

export const drivers: readonly Driver[] = [anthropicDriver, ...chatDrivers, responsesDriver, geminiDriver];

/** One of each kind, for what the families have in common. */
export const kinds: readonly Driver[] = [anthropicDriver, chatDrivers[0] as Driver, responsesDriver, geminiDriver];
