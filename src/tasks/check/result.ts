/** What `check` found of one step. */
export interface StepResult {
  /** What was tried; empty where the finding belongs to the step above, indented for a part of that. */
  readonly step: string
  /** `note`: worth knowing, and no problem. */
  readonly mark: 'ok' | 'note' | 'fail'
  readonly text: string
  /** What to type next, without the name of the program: belongs behind the text. */
  readonly command?: string
}

export const ok = (step: string, text: string): StepResult => ({ step, mark: 'ok', text })

export const fail = (step: string, text: string): StepResult => ({ step, mark: 'fail', text })

export const note = (text: string, step = ''): StepResult => ({ step, mark: 'note', text })

export const isFail = ({ mark }: StepResult) => mark === 'fail'
