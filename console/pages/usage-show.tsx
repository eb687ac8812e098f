// To be.

export function UsageShow() {
  return <p>UsageShow</p>;
}
