package fault

// Point names a boundary.
type Point string

// The boundaries of the pipeline, in the order in which a delivery meets them.
const (
	BeforeClaim   Point = "claim.before"
	AfterClaim    Point = "claim.after"
	BeforeIntent  Point = "intent.before"
	AfterIntent   Point = "intent.after"
	BeforeLost    Point = "lost.before" // the tombstone of an intent whose answer got lost (rule U2)
	AfterLost     Point = "lost.after"
	BeforeRenewal Point = "renewal.before" // of key and row, by the watchdog
	AfterRenewal  Point = "renewal.after"
	Fence         Point = "fence"       // before the last look at the lease; an error closes the fence
	BeforeSend    Point = "send.before" // behind the fence; an error is proof that nothing left
	AfterSend     Point = "send.after"  // an error is an answer that got lost: ambiguous
	BeforeResult  Point = "result.before"
	AfterResult   Point = "result.after"
	BeforeRepeat  Point = "repeat.before" // of an ambiguous attempt, by the process that made it
	AfterRepeat   Point = "repeat.after"
	BeforeSwitch  Point = "switch.before" // to the next provider, after the first one's refusal (rule P5)
	AfterSwitch   Point = "switch.after"
	BeforeUndo    Point = "undo.before"
	AfterUndo     Point = "undo.after"
	BeforeSettle  Point = "settle.before"
	AfterSettle   Point = "settle.after"
	BeforeRelease Point = "release.before"
	AfterRelease  Point = "release.after"
	BeforePoison  Point = "poison.before" // the dead letter of a record that is no event
	AfterPoison   Point = "poison.after"
	BeforeDone    Point = "done.before" // the record is taken care of, and its watermark does not know
	BeforeCommit  Point = "commit.before"
	AfterCommit   Point = "commit.after"
)

// The boundaries of the compensator's pass, in its order. What precedes each statement is the end of the one before.
const (
	AfterSweep    Point = "sweep.after"   // stale sends are committed as queued or unknown, not published
	AfterGiveUp   Point = "give-up.after" // letters are due
	AfterAgain    Point = "again.after"   // unknown WeChat sends are queued again, not published
	AfterQuestion Point = "question.after"
	AfterAnswer   Point = "answer.after" // the provider has told, nothing is recorded
	AfterFound    Point = "found.after"  // what was found is recorded
	AfterResend   Point = "resend.after"
	AfterRequeue  Point = "requeue.after" // committed as queued, not published
	AfterPick     Point = "pick.after"    // unpublished rows are picked and noted, not published
	BeforePublish Point = "publish.before"
	AfterPublish  Point = "publish.after" // on the retry topic, not noted
	AfterNote     Point = "note.after"    // noted as published
	BeforeLetter  Point = "letter.before"
	AfterLetter   Point = "letter.after" // on the dead-letter topic, still due
)

// Points lists every point.
func Points() []Point {
	return []Point{
		BeforeClaim, AfterClaim, BeforeIntent, AfterIntent, BeforeLost, AfterLost, BeforeRenewal, AfterRenewal, Fence,
		BeforeSend, AfterSend, BeforeResult, AfterResult, BeforeRepeat, AfterRepeat, BeforeSwitch, AfterSwitch, BeforeUndo, AfterUndo,
		BeforeSettle, AfterSettle, BeforeRelease, AfterRelease, BeforePoison, AfterPoison, BeforeDone,
		BeforeCommit, AfterCommit,
		AfterSweep, AfterGiveUp, AfterAgain, AfterQuestion, AfterAnswer, AfterFound, AfterResend, AfterRequeue, AfterPick,
		BeforePublish, AfterPublish, AfterNote, BeforeLetter, AfterLetter,
	}
}
