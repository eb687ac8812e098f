// JSON texts inside an answer or a signature, such as tool inputs: bounded together, because there may be many.

import { bounds } from '../config/config.ts';
import type { JsonValue } from './message-request.ts';
import { findCost, JsonWeight } from './scan-json.ts';

export class InnerJson {
  readonly #weight: JsonWeight;

  constructor(depthMax: number = bounds.answerDepthMax) {
    this.#weight = new JsonWeight(depthMax);
  }

  /** undefined for a text that is not JSON, is nested too deep, or exceeds a bound together with those before it. */
  read(text: string, parse: (text: string) => JsonValue = JSON.parse): JsonValue | undefined {
    if (findCost(text, this.#weight) !== null) return undefined;
    try {
      return parse(text);
    } catch {
      return undefined;
    }
  }
}
