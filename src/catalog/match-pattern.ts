// Patterns of model names. `*` stands for any run of characters, everything else for itself, and a
// pattern covers the whole name. No regular expressions, so that no pattern can be one.

interface CompiledPattern {
  head: string;
  middles: readonly string[];
  /** Null when the pattern has no `*`: the head is the whole name. */
  tail: string | null;
}

const COMPILED_PATTERNS_MAX = 10_000; // callers make patterns: the cache is emptied when it is full
const compiledPatterns = new Map<string, CompiledPattern>();

/** Whether the pattern covers the whole name. Upper and lower case differ. */
export function matchesPattern(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  const { head, middles, tail } = compile(pattern);
  if (tail === null) return name === head;
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false;
  const end = name.length - tail.length;
  let from = head.length;
  for (const middle of middles) {
    const at = name.indexOf(middle, from);
    if (at < 0 || at + middle.length > end) return false;
    from = at + middle.length;
  }
  return true;
}

/** Whether any of the patterns covers the whole name. */
export function matchesAnyPattern(patterns: readonly string[], name: string): boolean {
  for (const pattern of patterns) if (matchesPattern(pattern, name)) return true;
  return false;
}

function compile(pattern: string): CompiledPattern {
  const known = compiledPatterns.get(pattern);
  if (known !== undefined) return known;
  const parts = pattern.split('*');
  const compiled: CompiledPattern = {
    head: parts[0] ?? '',
    middles: parts.slice(1, -1).filter((part) => part !== ''),
    tail: parts.length === 1 ? null : (parts[parts.length - 1] ?? ''),
  };
  if (compiledPatterns.size >= COMPILED_PATTERNS_MAX) compiledPatterns.clear();
  compiledPatterns.set(pattern, compiled);
  return compiled;
}
