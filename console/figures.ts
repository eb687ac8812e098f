// Figures as people read them: counts, shares, times. Pure.

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** "12,345" up to there, then "1.2M". */
export function formatShort(count: number): string {
  return Math.abs(count) < 100_000 ? formatCount(Math.round(count)) : compact.format(count);
}

/** "1.3 %", of 0.013. What is above nothing is not shown as nothing. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: percent < 10 ? 1 : 0 })} %`;
}

/** "85 ms", "1.24 s", "2 min 5 s". */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
