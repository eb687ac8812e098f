// Reads what came back on a connection as HTTP/1.1, strictly.

export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

export interface Answers {
  /** Interim ones (1xx) left out. */
  whole: Answer[];
  /** Bytes of an answer that is not at its end. */
  hasPart: boolean;
  /** Why it is no HTTP/1.1; null when it is. */
  fault: string | null;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d)(?: [\x20-\x7e]*)?$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
const HEAD_END = '\r\n\r\n';
/**
 * The runtime's own refusal of what is pipelined behind a request and is no HTTP. It is written into an answer that is still in
 * progress, on the connection of the client that sent it, which then is closed.
 */
const REFUSAL = /^HTTP\/1\.1 (?:400|408|413|414|431|501|505) [\x20-\x7e]*\r\n(?:[^\r\n]+\r\n)*\r\n$/;

/** `methods` of the requests, in order: an answer to HEAD has no body. */
export function readAnswers(bytes: Buffer, methods: readonly string[], isClosed: boolean): Answers {
  const whole: Answer[] = [];
  let at = 0;
  while (at < bytes.byteLength) {
    const headEnd = bytes.indexOf(HEAD_END, at);
    if (headEnd < 0) return { whole, hasPart: true, fault: firstLineFault(bytes, at) };
    const lines = bytes.toString('latin1', at, headEnd).split('\r\n');
    const status = Number(STATUS_LINE.exec(lines[0] as string)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) return { whole, hasPart: false, fault: `no status line: ${lines[0]?.slice(0, 100)}` };
    const headers = new Map<string, string>();
    for (const text of lines.slice(1)) {
      const match = HEADER.exec(text);
      if (match === null) {
        const isRefusal = REFUSAL.test(bytes.toString('latin1', bytes.indexOf(text, at)));
        return { whole, hasPart: isRefusal, fault: isRefusal ? null : `no header: ${text.slice(0, 100)}` };
      }
      const name = (match[1] as string).toLowerCase();
      if (headers.has(name) && name === 'content-length')
        return { whole, hasPart: false, fault: 'two lengths of one answer' };
      headers.set(name, match[2] as string);
    }
    const bodyAt = headEnd + HEAD_END.length;
    if (status < 200 && status !== 101) {
      at = bodyAt;
      continue;
    }
    const isEmpty = methods[whole.length] === 'HEAD' || status === 204 || status === 304;
    const body = isEmpty ? { body: Buffer.alloc(0), end: bodyAt } : readBody(bytes, bodyAt, headers, isClosed);
    if (typeof body === 'string') return { whole, hasPart: false, fault: body };
    if (body === null) return { whole, hasPart: true, fault: null };
    whole.push({ status, headers, body: body.body });
    at = body.end;
  }
  return { whole, hasPart: false, fault: null };
}

function firstLineFault(bytes: Buffer, at: number): string | null {
  const start = bytes.toString('latin1', at, Math.min(at + 9, bytes.byteLength));
  return 'HTTP/1.1 '.startsWith(start) ? null : `no HTTP/1.1: ${JSON.stringify(start)}`;
}

interface ReadBody {
  body: Buffer;
  end: number;
}

/** Null when it is not all there; a text says what is wrong with it. */
function readBody(
  bytes: Buffer,
  at: number,
  headers: ReadonlyMap<string, string>,
  isClosed: boolean,
): ReadBody | string | null {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (coding !== undefined) {
    if (length !== undefined) return 'a length and a transfer-encoding in one answer';
    if (coding !== 'chunked') return `transfer-encoding ${coding}`;
    return readChunks(bytes, at);
  }
  if (length === undefined) return isClosed ? { body: bytes.subarray(at), end: bytes.byteLength } : null;
  if (!/^\d{1,15}$/.test(length)) return `content-length ${length}`;
  const end = at + Number(length);
  return end > bytes.byteLength ? null : { body: bytes.subarray(at, end), end };
}

function readChunks(bytes: Buffer, start: number): ReadBody | string | null {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = bytes.toString('latin1', at, lineEnd);
    if (REFUSAL.test(bytes.toString('latin1', at))) return null;
    if (!/^[\da-f]{1,8}$/i.test(size)) return `chunk size ${JSON.stringify(size.slice(0, 50))}`;
    const from = lineEnd + 2;
    const to = from + Number.parseInt(size, 16);
    if (to + 2 > bytes.byteLength) return null;
    if (bytes.toString('latin1', to, to + 2) !== '\r\n') return 'a chunk without its end';
    if (to === from) return { body: Buffer.concat(parts), end: to + 2 };
    parts.push(bytes.subarray(from, to));
    at = to + 2;
  }
}
