// To be.

export function Reference() {
  return <p>Reference</p>;
}
