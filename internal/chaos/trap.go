package chaos

import points "pusher/internal/fault"

// trapOf draws where a process dies the next time it comes there. A kill at any moment seldom finds the instant between
// a commit and the message that must follow it; these always do.
func trapOf(compensator bool, draw uint64) string {
	between := []points.Point{
		points.AfterClaim, points.AfterIntent, points.BeforeSend, points.AfterSend, points.BeforeResult, points.AfterResult,
		points.AfterSettle, points.BeforeDone, points.BeforeCommit,
	}
	if compensator {
		between = []points.Point{
			points.AfterRequeue, points.BeforePublish, points.AfterPublish, points.AfterPick, points.AfterSweep, points.BeforeLetter,
			points.AfterRequeue, points.BeforePublish, // twice: what only rule Q2 makes good
		}
	}
	return string(between[draw%uint64(len(between))]) + "=" + string(points.Die)
}
