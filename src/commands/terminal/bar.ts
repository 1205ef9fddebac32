const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of that many columns; fractions show as narrower blocks. */
export function barOf(width: number): string {
  const whole = Math.floor(width)
  return `${'█'.repeat(whole)}${eighths[Math.floor((width - whole) * 8)] ?? ''}`
}
