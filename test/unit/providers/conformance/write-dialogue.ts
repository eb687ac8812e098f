// A generated conversation as a client sends it, one request after another, and the facts that the last request must
// contain, by the rules of the protocols and the layout of the driver. It has no tests of its own.

import { type Block, carriedOf, type Dialogue, type Exchange, PDF_URL, type Result } from './dialogue.ts';
import { type Driver, type Json, type Layout, wireOf } from './driver.ts';
import { kinds } from './drivers.ts';
import { type Answered, answerOf, THINKING, TOOLS } from './exchange.ts';
import { exactText, type Fact, onText, Stamp } from './facts.ts';
import { callsOf, type ModelReply, replyOf, type Segment, text } from './model-reply.ts';

const THINKING_TYPES: readonly unknown[] = ['thinking', 'redacted_thinking'];
/** The content of the PDF is not read here. */
const PDF = 'JVBERi0xLjQK';

export interface Written {
  /** The body of the last request. */
  body: string;
  facts: Fact[];
  /** The paths of content that this kind does not support. */
  refused: string[];
  /** The ids of all calls, as the client knows them. */
  callIds: string[];
}

type Speaker = 'system' | 'user' | 'result';

/** Throws the fault of any response on the way. */
export async function writeDialogue(driver: Driver, dialogue: Dialogue): Promise<Written> {
  const writer = new DialogueWriter(driver);
  writer.system(dialogue.system);
  for (const [turn, exchange] of dialogue.exchanges.entries()) {
    const { asked, aside, by } = exchange;
    writer.user(asked, aside);
    const others = kinds.filter((one) => wireOf(one) !== wireOf(driver));
    const other = by === 0 ? driver : (others[by % others.length] as Driver);
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
    const by = given?.hasResults === true && this.#layout.textInLastResult ? 'result' : 'user';
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
    const segments = answer.segments.map((segment): Segment => {
      if (segment.is === 'text') return { ...segment, text: this.#stamp.mark(segment.text) };
      // The vendor itself never repeats an id; the tests of the other kinds cover repeated ones.
      const isUnique = segment.is === 'call' && (!isOwn || this.#driver.speaksMessages);
      return isUnique ? { ...segment, id: `${segment.id}_${turn}` } : segment;
    });
    const fitted = other.fit({ ...answer, segments });
    // A client does not send an empty response back.
    const reply = fitted.segments.length > 0 ? fitted : other.fit(replyOf([text(this.#stamp.mark(''))]));
    const asked = isOwn ? this.#body() : {};
    const options = { isStreamed: turn % 2 === 0, seed: turn + 1 };
    const answered = await this.#answer(other, asked, reply, options);
    const calls = answered.message.blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id ?? ''] : []));
    this.#callIds.push(...calls);
    this.#open = calls.map((id, place) => ({ id, number: this.#callCount + place }));
    const spoken = answered.blocks.filter((_, place) => !THINKING_TYPES.includes(answered.message.blocks[place]?.type));
    const isForgotten = client === 'forgetful' && spoken.length > 0;
    const blocks = isForgotten ? spoken : answered.blocks;
    for (const content of client === 'splitting' ? blocks : [blocks.join(',')])
      if (content !== '') this.#messages.push(`{"role":"assistant","content":[${content}]}`);
    const received = isOwn && !isForgotten ? other.back(reply) : this.#foreign(reply, isForgotten);
    this.#facts.push(...this.#factsOf(received));
    this.#callCount += calls.length;
  }

  async #answer(
    other: Driver,
    asked: Json | string,
    reply: ModelReply,
    options: { isStreamed: boolean; seed: number },
  ): Promise<Answered> {
    if (typeof asked !== 'string') return await answerOf(other, asked, reply, options);
    if (this.#refused.length > 0) return await answerOf(other, {}, reply, options);
    const body = asked.replace('"stream":false', `"stream":${options.isStreamed}`);
    return await answerOf(other, body, reply, options);
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
    const received = this.#layout.resultsByCall ? given.toSorted((one, other) => one.number - other.number) : given;
    const blocks = given.map(({ json }) => json);
    if (isSplit) for (const block of blocks) this.#messages.push(JSON.stringify({ role: 'user', content: [block] }));
    this.#given = {
      blocks: isSplit ? [] : blocks,
      hasResults: blocks.length > 0,
      inside: received.map(({ facts }) => facts),
      beside: received.flatMap(({ beside }) => beside),
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
    if (!this.#layout.attachmentsAfterResults)
      return { json, text: shown.flatMap(({ text, beside }) => [...text, ...beside]), beside: [] };
    const by = this.#layout.textInLastResult ? 'result' : 'user';
    const beside = shown.flatMap((one) => one.beside.map((fact): Fact => ('by' in fact ? { ...fact, by } : fact)));
    return { json, text: shown.flatMap(({ text }) => text), beside };
  }

  /** A block of the request: its text, and its other content. */
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

  /**
   * The segments that remain of another kind's reply, or of one that the client trimmed: without seals, and rarely
   * with thoughts.
   */
  #foreign({ segments }: ModelReply, isForgotten: boolean): Segment[] {
    const rest = segments.flatMap((segment): Segment[] => {
      return segment.is === 'text' || segment.is === 'call' ? [{ ...segment, seal: null }] : [];
    });
    const thought = segments.map((segment) => (segment.is === 'thinking' ? segment.text : '')).join('');
    const received: Segment[] =
      this.#driver.acceptsForeignThinking && !isForgotten && thought !== ''
        ? [{ is: 'thinking', text: thought, seal: null }]
        : [];
    if (!this.#layout.textBeforeCalls) return [...received, ...rest];
    return [...received, ...rest.filter(({ is }) => is === 'text'), ...callsOf({ segments: rest })];
  }

  #factsOf(segments: readonly Segment[]): Fact[] {
    let call = this.#callCount;
    return segments.flatMap((segment): Fact[] => {
      switch (segment.is) {
        case 'text': {
          const words: Fact = { by: 'assistant', text: segment.text };
          return segment.seal === null ? [words] : [words, { thought: null, seal: onText(segment.seal) }];
        }
        case 'thinking':
          return [{ thought: segment.text, seal: segment.seal }];
        case 'sealed':
          return [{ thought: null, seal: segment.seal }];
        case 'call':
          return [{ call: call++, name: segment.name, input: exactText(segment.input), seal: segment.seal }];
        default:
          return segment satisfies never;
      }
    });
  }
}
