// Which compressed form of a file a browser takes.

/** The first of `offered` that the header accept-encoding takes; null: as it is. A form that it gives the weight 0 is refused. */
export function negotiateEncoding(accepted: string | null, offered: readonly string[]): string | null {
  const taken = new Set<string>();
  for (const part of (accepted ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name !== '' && !isRefused) taken.add(name);
  }
  return offered.find((name) => taken.has(name)) ?? null;
}
