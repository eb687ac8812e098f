// A generated conversation as a client would have it, one request after the other, and the facts that the last of these
// requests must bring the provider: by the rules of the protocols, as the driver's layout says them. Not a test.

import { type Block, carriedOf, type Dialogue, type Exchange, PDF_URL, type Result } from './dialogue.ts';
import type { Driver, Json, Layout } from './driver.ts';
import { kinds } from './drivers.ts';
import { type Answered, answerOf, THINKING, TOOLS } from './exchange.ts';
import { exactText, type Fact, onText, Stamp } from './facts.ts';
import { callsOf, type Said, type Saying, sayingOf, text } from './saying.ts';

const THINKING_TYPES: readonly unknown[] = ['thinking', 'redacted_thinking'];
/** PDF bytes are nobody's to read here. */
const PDF = 'JVBERi0xLjQK';

export interface Written {
  /** The body of the last request. */
  body: string;
  facts: Fact[];
  /** Where something stands that this kind has no place for. */
  refused: string[];
  /** Ids of all calls, as the client knows them. */
  callIds: string[];
}

type Speaker = 'system' | 'user' | 'result';

/** Throws what an answer on the way is faulted with. */
export async function writeDialogue(driver: Driver, dialogue: Dialogue): Promise<Written> {
  const writer = new DialogueWriter(driver);
  writer.system(dialogue.system);
  for (const [turn, exchange] of dialogue.exchanges.entries()) {
    const { asked, aside, by } = exchange;
    writer.user(asked, aside);
    const other = by === 0 ? driver : (kinds.filter(({ kind }) => kind !== driver.kind)[by % 3] as Driver);
    await writer.assistant(other, exchange, turn);
    writer.results(exchange);
  }
  writer.user([dialogue.last], null);
  return writer.written();
}

class DialogueWriter {
  readonly #driver: Driver;
  readonly #layout: Layout;
  readonly #stamp = new Stamp();
  readonly #messages: string[] = [];
  readonly #facts: Fact[] = [];
  readonly #refused: string[] = [];
  readonly #callIds: string[] = [];
  #system: unknown;
  #callCount = 0;
  #open: { id: string; number: number }[] = []; // calls that wait for their results
  #given: { blocks: Json[]; hasResults: boolean; inside: Fact[][]; beside: Fact[] } | null = null; // results that wait for their message

  constructor(driver: Driver) {
    this.#driver = driver;
    this.#layout = driver.layout;
  }

  system(system: Dialogue['system']): void {
    if (system === null) return;
    const texts = (typeof system === 'string' ? [system] : system).map((text) => this.#stamp.mark(text));
    this.#facts.push(...texts.map((text): Fact => ({ by: 'system', text })));
    this.#system = typeof system === 'string' ? texts[0] : texts.map((text) => ({ type: 'text', text }));
  }

  user(asked: readonly (readonly Block[])[], aside: string | null): void {
    const given = this.#given;
    this.#given = null;
    const by = given?.hasResults === true && this.#layout.restInLastResult ? 'result' : 'user';
    if (given !== null) this.#facts.push(...given.inside.flat(), ...given.beside);
    for (const [place, blocks] of asked.entries()) {
      const before = place === 0 && given !== null ? given.blocks : [];
      const path = `messages.${this.#messages.length}.content`;
      const shown = blocks.map((block, index) => this.#show(block, `${path}.${before.length + index}`, by));
      this.#facts.push(...shown.flatMap(({ text, beside }) => [...text, ...beside]));
      this.#messages.push(JSON.stringify({ role: 'user', content: [...before, ...shown.map(({ json }) => json)] }));
    }
    if (aside === null) return;
    const text = this.#stamp.mark(aside);
    this.#messages.push(JSON.stringify({ role: 'system', content: text }));
    this.#facts.push({ by: this.#layout.systemInside === 'system' ? 'system' : by, text });
  }

  async assistant(other: Driver, { answer, client }: Exchange, turn: number): Promise<void> {
    const isOwn = other === this.#driver;
    const said = answer.said.map((thing): Said => {
      if (thing.is === 'text') return { ...thing, text: this.#stamp.mark(thing.text) };
      // The vendor itself never repeats an id; what another kind repeats is seen where that kind is tested.
      const isUnique = thing.is === 'call' && (!isOwn || this.#driver.kind === 'anthropic');
      return isUnique ? { ...thing, id: `${thing.id}_${turn}` } : thing;
    });
    const fitted = other.fit({ ...answer, said });
    // An answer without anything is none that a client sends back.
    const saying = fitted.said.length > 0 ? fitted : other.fit(sayingOf([text(this.#stamp.mark(''))]));
    const asked = isOwn ? this.#body() : {};
    const options = { isStreamed: turn % 2 === 0, seed: turn + 1 };
    const answered = await this.#answer(other, asked, saying, options);
    const calls = answered.message.blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id ?? ''] : []));
    this.#callIds.push(...calls);
    this.#open = calls.map((id, place) => ({ id, number: this.#callCount + place }));
    const spoken = answered.blocks.filter((_, place) => !THINKING_TYPES.includes(answered.message.blocks[place]?.type));
    const isForgotten = client === 'forgetful' && spoken.length > 0;
    const blocks = isForgotten ? spoken : answered.blocks;
    for (const content of client === 'splitting' ? blocks : [blocks.join(',')])
      if (content !== '') this.#messages.push(`{"role":"assistant","content":[${content}]}`);
    const heard = isOwn && !isForgotten ? other.back(saying) : this.#foreign(saying, isForgotten);
    this.#facts.push(...this.#factsOf(heard));
    this.#callCount += calls.length;
  }

  async #answer(
    other: Driver,
    asked: Json | string,
    saying: Saying,
    options: { isStreamed: boolean; seed: number },
  ): Promise<Answered> {
    if (typeof asked !== 'string') return await answerOf(other, asked, saying, options);
    if (this.#refused.length > 0) return await answerOf(other, {}, saying, options);
    const body = asked.replace('"stream":false', `"stream":${options.isStreamed}`);
    return await answerOf(other, body, saying, options);
  }

  results({ results, isReversed, client }: Exchange): void {
    const open = isReversed ? this.#open.toReversed() : this.#open;
    const isSplit = client === 'splitting';
    const first = this.#messages.length;
    const given = open.map(({ id, number }, place) => {
      const { content, isError } = results[number % results.length] as Result;
      const path = isSplit ? `messages.${first + place}.content.0` : `messages.${first}.content.${place}`;
      const shown = this.#showResult(content, path);
      const json: Json = { type: 'tool_result', tool_use_id: id, ...(content !== null && { content: shown.json }) };
      if (isError) json['is_error'] = true;
      const facts: Fact[] = [{ result: number, isError }, ...shown.text];
      return { json, number, facts, beside: shown.beside };
    });
    const heard = this.#layout.resultsByCall ? given.toSorted((one, other) => one.number - other.number) : given;
    const blocks = given.map(({ json }) => json);
    if (isSplit) for (const block of blocks) this.#messages.push(JSON.stringify({ role: 'user', content: [block] }));
    this.#given = {
      blocks: isSplit ? [] : blocks,
      hasResults: blocks.length > 0,
      inside: heard.map(({ facts }) => facts),
      beside: heard.flatMap(({ beside }) => beside),
    };
    this.#open = [];
  }

  written(): Written {
    return { body: this.#body(), facts: this.#facts, refused: this.#refused, callIds: this.#callIds };
  }

  #body(): string {
    const rest = { model: 'a-model', max_tokens: 4_000, stream: false, thinking: THINKING, tools: TOOLS };
    const json = JSON.stringify(this.#system === undefined ? rest : { ...rest, system: this.#system });
    return `${json.slice(0, -1)},"messages":[${this.#messages.join(',')}]}`;
  }

  #showResult(content: Result['content'], path: string): { json: unknown; text: Fact[]; beside: Fact[] } {
    if (content === null) return { json: null, text: [], beside: [] };
    if (typeof content === 'string') {
      const text = this.#stamp.mark(content);
      return { json: text, text: [{ by: 'result', text }], beside: [] };
    }
    const shown = content.map((block) => this.#show(block, path, 'result'));
    const json = shown.map((one) => one.json);
    if (!this.#layout.attachmentsBeside)
      return { json, text: shown.flatMap(({ text, beside }) => [...text, ...beside]), beside: [] };
    const by = this.#layout.restInLastResult ? 'result' : 'user';
    const beside = shown.flatMap((one) => one.beside.map((fact): Fact => ('by' in fact ? { ...fact, by } : fact)));
    return { json, text: shown.flatMap(({ text }) => text), beside };
  }

  /** A block of the request; what it says, and what it shows beside its words. */
  #show(block: Block, path: string, by: Speaker): { json: Json; text: Fact[]; beside: Fact[] } {
    if (carriedOf(block).some((kind) => this.#layout.refuses.includes(kind))) this.#refused.push(path);
    const mark = (text: string): Fact & { text: string } => ({ by, text: this.#stamp.mark(text) });
    switch (block.is) {
      case 'blank':
        return { json: { type: 'text', text: ' ' }, text: [], beside: [] };
      case 'text': {
        const fact = mark(block.text);
        const cached = block.isCached ? { cache_control: { type: 'ephemeral' } } : {};
        return { json: { type: 'text', text: fact.text, ...cached }, text: [fact], beside: [] };
      }
      case 'image': {
        const source = { type: 'base64', media_type: block.media, data: block.data };
        return { json: { type: 'image', source }, text: [], beside: [{ attached: `${block.media} ${block.data}` }] };
      }
      case 'image-url': {
        const source = { type: 'url', url: block.url };
        return { json: { type: 'image', source }, text: [], beside: [{ attached: `image at ${block.url}` }] };
      }
      case 'search': {
        const [title, source] = [mark(block.title), mark(block.source)];
        const texts = block.texts.map(mark);
        const content = texts.map(({ text }) => ({ type: 'text', text }));
        const json = { type: 'search_result', title: title.text, source: source.text, content };
        return { json, text: [title, source, ...texts], beside: [] };
      }
      case 'document':
        return this.#showDocument(block, mark);
    }
  }

  #showDocument(
    block: Extract<Block, { is: 'document' }>,
    mark: (text: string) => Fact & { text: string },
  ): { json: Json; text: Fact[]; beside: Fact[] } {
    const title = block.title === null ? [] : [mark(block.title)];
    const context = block.context === null ? [] : [mark(block.context)];
    const head: Json = { type: 'document' };
    if (title[0] !== undefined) head['title'] = title[0].text;
    if (context[0] !== undefined) head['context'] = context[0].text;
    if (!('texts' in block)) {
      const isUrl = block.form === 'pdf-url';
      const source = isUrl
        ? { type: 'url', url: PDF_URL }
        : { type: 'base64', media_type: 'application/pdf', data: PDF };
      const attached: Fact = { attached: isUrl ? `pdf at ${PDF_URL}` : `application/pdf ${PDF}` };
      const json = { ...head, source };
      return this.#layout.titleLast.includes(block.form)
        ? { json, text: context, beside: [...title, attached] }
        : { json, text: [...title, ...context], beside: [attached] };
    }
    const texts = block.texts.map(mark);
    if (block.form === 'text') {
      const data = texts.map(({ text }) => text).join('\n');
      const json = { ...head, source: { type: 'text', media_type: 'text/plain', data } };
      return { json, text: [...title, ...context, ...texts], beside: [] };
    }
    const content = texts.map(({ text }) => ({ type: 'text', text }));
    const json = { ...head, source: { type: 'content', content } };
    return { json, text: [...title, ...context, ...texts], beside: [] };
  }

  /** What another kind's model answered, or was forgotten, to this one: nobody's seals, and seldom thoughts. */
  #foreign({ said }: Saying, isForgotten: boolean): Said[] {
    const rest = said.flatMap((thing): Said[] => {
      return thing.is === 'text' || thing.is === 'call' ? [{ ...thing, seal: null }] : [];
    });
    const thought = said.map((thing) => (thing.is === 'thinking' ? thing.text : '')).join('');
    const heard: Said[] =
      this.#driver.hearsForeignThinking && !isForgotten && thought !== ''
        ? [{ is: 'thinking', text: thought, seal: null }]
        : [];
    if (!this.#layout.textBeforeCalls) return [...heard, ...rest];
    return [...heard, ...rest.filter(({ is }) => is === 'text'), ...callsOf({ said: rest })];
  }

  #factsOf(said: readonly Said[]): Fact[] {
    let call = this.#callCount;
    return said.flatMap((thing): Fact[] => {
      switch (thing.is) {
        case 'text': {
          const words: Fact = { by: 'assistant', text: thing.text };
          return thing.seal === null ? [words] : [words, { thought: null, seal: onText(thing.seal) }];
        }
        case 'thinking':
          return [{ thought: thing.text, seal: thing.seal }];
        case 'sealed':
          return [{ thought: null, seal: thing.seal }];
        case 'call':
          return [{ call: call++, name: thing.name, input: exactText(thing.input), seal: thing.seal }];
        default:
          return thing satisfies never;
      }
    });
  }
}
