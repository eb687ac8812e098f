// A text as a QR code: one path on white, whatever the colours of the page, so that every camera reads it.

import { encode } from 'uqr';

const QUIET_MODULES = 4;

export function QrCode({ text, label, sizePx = 200 }: { text: string; label: string; sizePx?: number }) {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_MODULES });
  const dark = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      width={sizePx}
      height={sizePx}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  );
}
