import { nearest } from '../text/nearest.ts'

/** The words that the service is known to use for an event. It may add some. */
interface Words {
  readonly noun: string
  readonly known: readonly string[]
  /** What people write instead, in lower case. */
  readonly others?: ReadonlyMap<string, string>
}

/** Only `Blocked` has been seen; the others are documented, as an action that was taken or as one to take. */
const actions: Words = {
  noun: 'an action',
  known: (
    'Blocked Logged Challenged RateLimited Allowed Bypassed Detected Captcha ' +
    'Block Log Challenge RateLimit Allow Bypass Detect'
  ).split(' '),
}

const severities: Words = {
  noun: 'a severity',
  known: ['notice', 'warning', 'error', 'critical', '0', '1', '2'],
}

/** ISO 3166-1 alpha-2, as assigned. */
const countries: Words = {
  noun: 'a country of ISO 3166 (two letters)',
  known: (
    'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ ' +
    'CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR ' +
    'GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP ' +
    'KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT ' +
    'MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW ' +
    'SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG ' +
    'UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW'
  ).split(' '),
  others: new Map([
    ['uk', 'GB'],
    ['el', 'GR'],
    ['en', 'GB'],
    ['usa', 'US'],
  ]),
}

export const knownWords = { actions, severities, countries } as const
export type WordKind = keyof typeof knownWords

/** Why no event is known to have this word, with a remedy; undefined for a known word, in any case. */
export function unknownWord(kind: WordKind, word: string): string | undefined {
  const { noun, known, others }: Words = knownWords[kind]
  const text = word.trim()
  const isKnown = known.some((each) => each.toLowerCase() === text.toLowerCase())
  if (isKnown) return undefined
  // Half of all pairs of letters are close to one another.
  const close = others === undefined ? nearest(text, known) : (others.get(text.toLowerCase()) ?? named(text))
  const remedy =
    close !== undefined
      ? `did you mean ${close}?`
      : others === undefined
        ? `known: ${known.join(', ')}`
        : 'such as DE or US'
  return `is not known as ${noun}, so it may match no event; ${remedy}`
}

/** The country with this English name. */
function named(text: string): string | undefined {
  if (text.length < 4) return undefined
  const names = new Intl.DisplayNames('en', { type: 'region' })
  return countries.known.find((code) => names.of(code)?.toLowerCase() === text.toLowerCase())
}
