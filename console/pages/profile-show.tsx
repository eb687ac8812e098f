// To be.

export function ProfileShow() {
  return <p>ProfileShow</p>;
}
