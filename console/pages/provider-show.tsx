// To be.

export function ProviderShow() {
  return <p>ProviderShow</p>;
}
